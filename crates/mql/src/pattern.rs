//! Regular expressions as MongoDB's users write them, run in linear time.
//!
//! The dialect is PCRE's. A pattern is rewritten to the `regex` crate's dialect; classes such as `\d` mean ASCII, as they do in
//! MongoDB. Look-around and back references need backtracking: such patterns run on an engine that gives up after a fixed
//! number of steps and then counts as not matching.

use std::sync::Arc;

use lapsedb_value::Budget;
use lapsedb_value::budget::{PATTERN_BYTES_MAX, PATTERN_SIZES, PROBE_STEPS, PatternSize};

use crate::{MqlError, Result};

mod translate;

/// Bytes that the automaton which is built while a text is searched may take.
const DFA_BYTES_MAX: usize = 1024 * 1024;

/// Steps back that a pattern with look-around may take over one text.
const BACKTRACK_STEPS_MAX: usize = 1_000_000;

/// A pattern that has been compiled.
#[derive(Clone, Debug)]
pub struct Pattern {
    engine: Engine,
    size: PatternSize,
}

#[derive(Clone, Debug)]
enum Engine {
    Linear(regex::Regex),
    Backtracking(Arc<fancy_regex::Regex>),
}

/// Where a pattern was found, and its groups, as byte ranges of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The whole.
    pub range: std::ops::Range<usize>,
    /// The groups in order; nothing for one that took no part.
    pub groups: Vec<Option<std::ops::Range<usize>>>,
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
        let mut refused = None;
        for size in PATTERN_SIZES {
            budget.steps(PROBE_STEPS)?;
            let linear = regex::RegexBuilder::new(&text)
                .case_insensitive(options.contains('i'))
                .multi_line(options.contains('m'))
                .dot_matches_new_line(options.contains('s'))
                .ignore_whitespace(verbose)
                .size_limit(size.compiled_bytes_max)
                .dfa_size_limit(DFA_BYTES_MAX)
                .build();
            match linear {
                Ok(regex) => {
                    let engine = Engine::Linear(regex);
                    return Pattern { engine, size }.counted(budget);
                }
                Err(error @ regex::Error::CompiledTooBig(_)) => refused = Some(error),
                Err(error) => return Pattern::backtracking(&text, options, &error, budget),
            }
        }
        match refused {
            Some(error) => Err(invalid(&error.to_string())),
            None => Err(invalid("pattern is too large")),
        }
    }

    fn counted(self, budget: &Budget) -> Result<Pattern> {
        budget.keep(self.size.compiled_bytes_max)?;
        Ok(self)
    }

    fn backtracking(
        text: &str,
        options: &str,
        error: &regex::Error,
        budget: &Budget,
    ) -> Result<Pattern> {
        let flags: String = options.chars().filter(|flag| *flag != 'u').collect();
        let text = match flags.is_empty() {
            true => text.to_owned(),
            false => format!("(?{flags}){text}"),
        };
        let [.., size] = PATTERN_SIZES;
        let built = fancy_regex::RegexBuilder::new(&text)
            .backtrack_limit(BACKTRACK_STEPS_MAX)
            .delegate_size_limit(size.compiled_bytes_max)
            .delegate_dfa_size_limit(DFA_BYTES_MAX)
            .build();
        match built {
            Ok(regex) => {
                let engine = Engine::Backtracking(Arc::new(regex));
                Pattern { engine, size }.counted(budget)
            }
            Err(_) => Err(invalid(&error.to_string())),
        }
    }

    /// Counts a search, or refuses one that could take too long.
    fn charge(&self, text: &str, budget: &Budget) -> Result<()> {
        let text_bytes_max = self.size.text_bytes_max;
        if text.len() > text_bytes_max {
            return Err(MqlError::new(
                51156,
                format!(
                    "A regular expression of this size searches texts of at most {text_bytes_max} bytes; this one has {}. A simpler expression may search longer ones.",
                    text.len()
                ),
            ));
        }
        self.size.charge(budget, text.len())?;
        match self.engine {
            Engine::Linear(_) => Ok(()),
            Engine::Backtracking(_) => Ok(budget.steps(PROBE_STEPS)?),
        }
    }

    /// Whether the text contains the pattern.
    ///
    /// # Errors
    /// When the text is too long for the pattern, or the request has to stop.
    pub fn is_match(&self, text: &str, budget: &Budget) -> Result<bool> {
        self.charge(text, budget)?;
        Ok(match &self.engine {
            Engine::Linear(regex) => regex.is_match(text),
            Engine::Backtracking(regex) => regex.is_match(text).unwrap_or(false),
        })
    }

    /// The first place at or behind a byte of the text where the pattern is.
    ///
    /// # Errors
    /// When the text is too long for the pattern, or the request has to stop.
    pub fn find_at(&self, text: &str, start: usize, budget: &Budget) -> Result<Option<Found>> {
        self.charge(text.get(start..).unwrap_or_default(), budget)?;
        Ok(self.find(text, start))
    }

    fn find(&self, text: &str, start: usize) -> Option<Found> {
        match &self.engine {
            Engine::Linear(regex) => {
                let captures = regex.captures_at(text, start)?;
                let mut groups = captures
                    .iter()
                    .map(|group| group.map(|found| found.range()));
                Some(Found {
                    range: groups.next()??,
                    groups: groups.collect(),
                })
            }
            Engine::Backtracking(regex) => {
                let captures = regex.captures_from_pos(text, start).ok()??;
                let mut groups = captures
                    .iter()
                    .map(|group| group.map(|found| found.range()));
                Some(Found {
                    range: groups.next()??,
                    groups: groups.collect(),
                })
            }
        }
    }
}

fn invalid(why: &str) -> MqlError {
    MqlError::new(51091, format!("Regular expression is invalid: {why}"))
}
