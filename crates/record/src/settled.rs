//! Which of the dead are accounted for: a second pair of marks that follows the rule at a distance.

use crate::header::Header;
use crate::mark::Mark;
use crate::time::Secs;
use crate::ttl::ItemTtl;

/// Up to where a collection's dead have left its calendar. Nobody looks for an entry below these marks any more, so whoever
/// comes across one may drop it, by the entry's own bytes. The marks only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Settled {
    /// Items that inherit and were written at or before this second.
    pub written: Option<Secs>,
    /// Items with a ttl of their own that ended at or before this second.
    pub due: Option<Secs>,
}

impl Settled {
    /// Whether a record lies below the marks.
    #[must_use]
    pub fn covers(&self, item: ItemTtl, written: Secs) -> bool {
        match item {
            ItemTtl::Never => false,
            ItemTtl::Inherit => self.written.is_some_and(|mark| written <= mark),
            ItemTtl::After(life) => self.due.is_some_and(|mark| written.plus(life) <= mark),
        }
    }

    /// Whether a stored record lies below the marks. What cannot be read does not: it is reported when it is read, not dropped.
    #[must_use]
    pub fn covers_record(&self, bytes: &[u8]) -> bool {
        Header::read_unchecked(bytes).is_ok_and(|header| self.covers(header.ttl, header.written))
    }

    /// Whether an entry that begins with a mark lies below the marks.
    #[must_use]
    pub fn covers_entry(&self, bytes: &[u8]) -> bool {
        Mark::read(bytes).is_ok_and(|mark| self.covers(mark.ttl, mark.written))
    }
}
