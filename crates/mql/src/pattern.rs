//! Regular expressions as MongoDB's users write them, run in linear time.
//!
//! The dialect is PCRE's. A pattern is rewritten to the `regex` crate's dialect; classes such as `\d` mean ASCII, as they do in
//! MongoDB. Look-around and back references need backtracking: such patterns run on an engine that gives up after a fixed
//! number of steps and then counts as not matching.

use std::sync::Arc;

use crate::{MqlError, Result};

mod translate;

/// Bytes a compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 10 << 20;

/// Steps back that a pattern with look-around may take over one text.
const BACKTRACK_STEPS_MAX: usize = 1_000_000;

/// A pattern that has been compiled.
#[derive(Clone, Debug)]
pub struct Pattern(Engine);

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
    /// Compiles a pattern; the options are among `imsxu`.
    pub fn new(source: &str, options: &str) -> Result<Pattern> {
        if let Some(flag) = options.chars().find(|flag| !"imsxu".contains(*flag)) {
            return Err(MqlError::new(
                51108,
                format!(" invalid flag in regex options: {flag}"),
            ));
        }
        let verbose = options.contains('x');
        let text = translate::translate(source, verbose, options.contains('m'));
        let linear = regex::RegexBuilder::new(&text)
            .case_insensitive(options.contains('i'))
            .multi_line(options.contains('m'))
            .dot_matches_new_line(options.contains('s'))
            .ignore_whitespace(verbose)
            .size_limit(COMPILED_BYTES_MAX)
            .build();
        match linear {
            Ok(regex) => Ok(Pattern(Engine::Linear(regex))),
            Err(error) => Pattern::backtracking(&text, options, &error),
        }
    }

    fn backtracking(text: &str, options: &str, error: &regex::Error) -> Result<Pattern> {
        let flags: String = options.chars().filter(|flag| *flag != 'u').collect();
        let text = match flags.is_empty() {
            true => text.to_owned(),
            false => format!("(?{flags}){text}"),
        };
        let built = fancy_regex::RegexBuilder::new(&text)
            .backtrack_limit(BACKTRACK_STEPS_MAX)
            .delegate_size_limit(COMPILED_BYTES_MAX)
            .build();
        match built {
            Ok(regex) => Ok(Pattern(Engine::Backtracking(Arc::new(regex)))),
            Err(_) => Err(MqlError::new(
                51091,
                format!("Regular expression is invalid: {error}"),
            )),
        }
    }

    /// Whether the text contains the pattern.
    pub fn is_match(&self, text: &str) -> bool {
        match &self.0 {
            Engine::Linear(regex) => regex.is_match(text),
            Engine::Backtracking(regex) => regex.is_match(text).unwrap_or(false),
        }
    }

    /// The first place at or behind a byte of the text where the pattern is.
    pub fn find_at(&self, text: &str, start: usize) -> Option<Found> {
        match &self.0 {
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
