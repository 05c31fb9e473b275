//! Plans at work: entries in, items out, and what it took.

mod ordinals;
mod reader;
mod sweep;

use std::time::{Duration, Instant};

use bytes::Bytes;
use lapsedb_record::{Clock, Live};
use lapsedb_store::index::scan::{EntryPage, EntrySpan};
use lapsedb_store::{Collection, ItemKey, ItemPage, ItemRange, Result, ScanLimits, View};

pub use ordinals::{Node, Stream};
pub use reader::{Candidate, Reader};
pub use sweep::Sweep;

/// Bytes of items that are gathered in memory to be put in order, at most.
const GATHERED_BYTES_MAX: usize = 4 << 20;

/// What an answer took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Items loaded.
    pub items_read: u64,
    /// Bytes of their bodies.
    pub loaded_bytes: u64,
    /// Entries looked at, dead ones too.
    pub index_entries_read: u64,
}

/// How long an answer's parts took, each without the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Saying what follows from the query for indexes.
    pub optimize: Duration,
    /// Choosing a way to read.
    pub plan: Duration,
    /// Waiting for entries of indexes, if that is measured.
    pub entries: Duration,
    /// Waiting for items, if that is measured.
    pub items: Duration,
}

/// The store as one request sees it, with a count of what is read.
pub struct Io<'v> {
    /// The request's snapshot and time.
    pub view: &'v View,
    /// The collection that is read.
    pub collection: &'v Collection,
    /// What was read so far.
    pub work: Work,
    /// How long that took so far: waits are measured only where that was asked for.
    pub times: Times,
    timed: bool,
}

impl<'v> Io<'v> {
    /// A count that begins at zero.
    #[must_use]
    pub fn new(view: &'v View, collection: &'v Collection) -> Io<'v> {
        Io {
            view,
            collection,
            work: Work::default(),
            times: Times::default(),
            timed: false,
        }
    }

    /// The same, with the time measured that the store takes.
    #[must_use]
    pub const fn timed(mut self, timed: bool) -> Io<'v> {
        self.timed = timed;
        self
    }

    fn begin(&self) -> Option<Instant> {
        self.timed.then(Clock::monotonic)
    }

    /// Living entries of a span.
    pub(crate) async fn entries(
        &mut self,
        span: EntrySpan,
        reverse: bool,
        rows_max: usize,
    ) -> Result<EntryPage> {
        let begun = self.begin();
        let page = self
            .view
            .entries(self.collection, span, reverse, rows_max)
            .await?;
        self.times.entries += since(begun);
        self.work.index_entries_read += page.read;
        Ok(page)
    }

    /// Living items.
    pub(crate) async fn items(&mut self, keys: &[ItemKey]) -> Result<Vec<Option<Live<Bytes>>>> {
        let begun = self.begin();
        let items = self.view.items(self.collection, keys).await?;
        self.times.items += since(begun);
        for item in items.iter().flatten() {
            self.read(item);
        }
        Ok(items)
    }

    /// All living items of a range by creation, if they are not more than so many and not large. They are not counted as read:
    /// whoever hands them out does that.
    pub(crate) async fn gather(
        &mut self,
        range: &ItemRange,
        items_max: usize,
    ) -> Result<Option<Vec<(ItemKey, Live<Bytes>)>>> {
        let limits = ScanLimits {
            items_max: items_max.saturating_add(1),
            bytes_max: GATHERED_BYTES_MAX,
        };
        let begun = self.begin();
        let page = self.view.scan(self.collection, range, None, limits).await?;
        self.times.items += since(begun);
        if page.resume.is_some() {
            return Ok(None);
        }
        let mut items = page.items;
        items.sort_unstable_by_key(|(_, item)| item.header().ordinal);
        Ok(Some(items))
    }

    /// Living items of a range, in its order.
    pub(crate) async fn scan(
        &mut self,
        range: &ItemRange,
        resume: Option<&[u8]>,
        limits: ScanLimits,
    ) -> Result<ItemPage> {
        let begun = self.begin();
        let page = self
            .view
            .scan(self.collection, range, resume, limits)
            .await?;
        self.times.items += since(begun);
        for (_, item) in &page.items {
            self.read(item);
        }
        Ok(page)
    }

    pub(crate) fn read(&mut self, item: &Live<Bytes>) {
        self.work.items_read += 1;
        self.work.loaded_bytes += item.body().len() as u64;
    }
}

fn since(begun: Option<Instant>) -> Duration {
    begun.map_or(Duration::ZERO, |begun| begun.elapsed())
}
