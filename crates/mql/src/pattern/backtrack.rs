//! Patterns with look-around, back references and calls, which need backtracking.
//!
//! Each instruction counts in the request's budget, and so does the memory of what can be tried yet. An attempt to match at one
//! place of the text has PCRE's limit; how long a text may be has none.

use std::sync::Arc;

use fancy_regex::Expr;
use lapsedb_value::Budget;
use lapsedb_value::pattern::Found;

mod compile;
mod facts;
mod program;
mod run;
mod set;
mod visits;
mod width;

pub(super) use run::Unanswered;
pub(super) use visits::Refused;

/// A compiled pattern. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Backtracking {
    program: Arc<program::Program>,
}

impl Backtracking {
    /// Compiles a pattern in the dialect of the `fancy-regex` crate. A reason is told only for what that crate can read.
    pub(super) fn new(source: &str, budget: &Budget) -> Result<Backtracking, Refused> {
        // That crate cannot read how the linear engine is told that words are of ASCII. Here they always are.
        let source = source.replace("(?-u:\\b)", "\\b");
        let tree = Expr::parse_tree(&source).map_err(|_| Refused::Unreadable)?;
        let program = program::Program::new(&tree.expr, budget)?;
        Ok(Backtracking {
            program: Arc::new(program),
        })
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.program.bytes
    }

    pub(super) fn is_match(&self, text: &str, budget: &Budget) -> Result<bool, Unanswered> {
        Ok(run::search(&self.program, text, 0, budget)?.is_some())
    }

    pub(super) fn find_at(
        &self,
        text: &str,
        start: usize,
        budget: &Budget,
    ) -> Result<Option<Found>, Unanswered> {
        let bounds = run::search(&self.program, text, start, budget)?;
        Ok(bounds.and_then(|bounds| Found::from_bounds(&bounds)))
    }
}

#[cfg(test)]
#[path = "backtrack_tests.rs"]
mod tests;
