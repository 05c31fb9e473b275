//! Where a query is evaluated: between other requests while its steps are short, and out of their way when they are not.

use std::time::Duration;

use lapsedb_record::Clock;
use lapsedb_sql::Bound;

use crate::give_way::has_other_threads;

/// A step that takes longer than this makes those behind it run out of the way, in milliseconds.
const STEP_MILLIS_MAX: u64 = 10;

/// The steps of one page.
pub(super) struct Turns {
    long: bool,
}

impl Turns {
    /// Joins and subqueries can make much of one item, so they are expected to take long.
    pub(super) fn new(bound: &Bound) -> Turns {
        Turns {
            long: bound.multiplies(),
        }
    }

    /// One step of evaluation, without a wait in it.
    pub(super) fn take<T>(&mut self, step: impl FnOnce() -> T) -> T {
        let begun = Clock::monotonic();
        let result = if self.long && has_other_threads() {
            // The other tasks of this thread go on in another.
            tokio::task::block_in_place(step)
        } else {
            step()
        };
        self.long |= begun.elapsed() >= Duration::from_millis(STEP_MILLIS_MAX);
        result
    }
}
