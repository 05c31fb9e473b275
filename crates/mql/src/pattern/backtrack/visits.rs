//! What compiling a pattern may take.

use lapsedb_value::Budget;
use lapsedb_value::budget::Stop;

/// Parts of a pattern that are looked at while it is compiled, each as often as it is: some tens of milliseconds at worst.
pub(super) const COMPILE_VISITS_MAX: usize = 1_000_000;

/// Why there is no compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pattern) enum Refused {
    /// The request has to stop.
    Stop(Stop),
    /// The `fancy-regex` crate cannot read it.
    Unreadable,
    /// It can be read, but not run, or is too large.
    Invalid(String),
}

impl From<Stop> for Refused {
    fn from(stop: Stop) -> Refused {
        Refused::Stop(stop)
    }
}

/// Counts what is looked at, in the request's budget and against the limit. Copies of a part may be many and yet give no
/// instruction, so that their bytes alone are no bound.
pub(super) struct Visits<'a> {
    budget: &'a Budget,
    left: usize,
}

impl<'a> Visits<'a> {
    pub(super) fn new(budget: &'a Budget) -> Visits<'a> {
        Visits {
            budget,
            left: COMPILE_VISITS_MAX,
        }
    }

    #[inline]
    pub(super) fn count(&mut self, visits: usize) -> Result<(), Refused> {
        let Some(left) = self.left.checked_sub(visits) else {
            return Err(Refused::Invalid(format!(
                "compiling it takes more than {COMPILE_VISITS_MAX} steps"
            )));
        };
        self.left = left;
        // The budget collects steps itself: most of the time this is a subtraction.
        self.budget.steps(visits as u32)?;
        Ok(())
    }
}
