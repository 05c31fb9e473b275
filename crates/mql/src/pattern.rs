//! Regular expressions as MongoDB's users write them.
//!
//! The dialect is PCRE's. A pattern is rewritten to the `regex` crate's dialect; classes such as `\d` mean ASCII, as they do in
//! MongoDB, and it is searched in linear time. Look-around and back references need backtracking (`backtrack`). Both count what they
//! do in the request's budget while they do it, so that a text may be of any length.

use lapsedb_value::Budget;
use lapsedb_value::budget::PROBE_STEPS;
pub use lapsedb_value::pattern::Found;
use lapsedb_value::pattern::{self, PATTERN_BYTES_MAX, PatternError, PatternOptions};

use crate::{MqlError, Result};

mod backtrack;
mod translate;

/// The code of a search that took more instructions than PCRE's match limit allows.
pub const MATCH_LIMIT_EXCEEDED: i32 = 51156;

/// A pattern that has been compiled.
#[derive(Clone, Debug)]
pub struct Pattern {
    engine: Engine,
}

#[derive(Clone, Debug)]
enum Engine {
    Linear(pattern::Pattern),
    Backtracking(backtrack::Backtracking),
}

impl Pattern {
    /// Compiles a pattern; the options are among `imsxu`. What it takes is counted as long as the request lasts.
    pub fn new(source: &str, options: &str, budget: &Budget) -> Result<Pattern> {
        if let Some(flag) = options.chars().find(|flag| !"imsxu".contains(*flag)) {
            return Err(MqlError::new(
                51108,
                format!(" invalid flag in regex options: {flag}"),
            ));
        }
        if source.len() > PATTERN_BYTES_MAX {
            return Err(invalid(&format!(
                "pattern is {} bytes long; {PATTERN_BYTES_MAX} are the limit",
                source.len()
            )));
        }
        let verbose = options.contains('x');
        let text = translate::translate(source, verbose, options.contains('m'));
        let linear = PatternOptions {
            case_insensitive: options.contains('i'),
            multi_line: options.contains('m'),
            dot_matches_new_line: options.contains('s'),
            ignore_whitespace: verbose,
        };
        let engine = match pattern::Pattern::new(&text, linear, budget) {
            Ok(pattern) => Engine::Linear(pattern),
            Err(PatternError::Syntax(why)) => backtracking(&text, options, &why, budget)?,
            Err(PatternError::TooLarge(why)) => return Err(invalid(&why)),
            Err(PatternError::Stop(stop)) => return Err(stop.into()),
        };
        Ok(Pattern { engine })
    }

    /// Whether the text contains the pattern.
    ///
    /// # Errors
    /// When the request has to stop, or the search exceeds PCRE's match limit.
    pub fn is_match(&self, text: &str, budget: &Budget) -> Result<bool> {
        Ok(match &self.engine {
            Engine::Linear(pattern) => pattern.is_match(text, budget)?,
            Engine::Backtracking(pattern) => pattern.is_match(text, budget)?,
        })
    }

    /// The first place at or behind a byte of the text where the pattern is.
    ///
    /// # Errors
    /// When the request has to stop, or the search exceeds PCRE's match limit.
    pub fn find_at(&self, text: &str, start: usize, budget: &Budget) -> Result<Option<Found>> {
        Ok(match &self.engine {
            Engine::Linear(pattern) => pattern.find_at(text, start, budget)?,
            Engine::Backtracking(pattern) => pattern.find_at(text, start, budget)?,
        })
    }
}

/// For what the linear engine refuses; if this one cannot read it either, the reason is the first one's.
fn backtracking(text: &str, options: &str, why: &str, budget: &Budget) -> Result<Engine> {
    budget.steps(PROBE_STEPS)?;
    let flags: String = options.chars().filter(|flag| *flag != 'u').collect();
    let text = match flags.is_empty() {
        true => text.to_owned(),
        false => format!("(?{flags}){text}"),
    };
    let pattern = backtrack::Backtracking::new(&text, budget).map_err(|refused| match refused {
        backtrack::Refused::Stop(stop) => stop.into(),
        backtrack::Refused::Unreadable => invalid(why),
        backtrack::Refused::Invalid(own) => invalid(&own),
    })?;
    budget.keep(pattern.bytes())?;
    Ok(Engine::Backtracking(pattern))
}

impl From<backtrack::Unanswered> for MqlError {
    fn from(unanswered: backtrack::Unanswered) -> MqlError {
        match unanswered {
            backtrack::Unanswered::Stop(stop) => stop.into(),
            backtrack::Unanswered::MatchLimit => MqlError::new(
                MATCH_LIMIT_EXCEEDED,
                "Error occurred while executing the regular expression. Result code: match limit exceeded",
            ),
        }
    }
}

fn invalid(why: &str) -> MqlError {
    MqlError::new(51091, format!("Regular expression is invalid: {why}"))
}
