//! Plans at work: entries in, items out, and what it took.

mod ordinals;
mod reader;
mod sweep;

use bytes::Bytes;
use lapsedb_record::Live;
use lapsedb_store::index::scan::{EntryPage, EntrySpan};
use lapsedb_store::{Collection, ItemKey, ItemRange, Result, ScanLimits, View};

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

/// The store as one request sees it, with a count of what is read.
pub struct Io<'v> {
    /// The request's snapshot and time.
    pub view: &'v View,
    /// The collection that is read.
    pub collection: &'v Collection,
    /// What was read so far.
    pub work: Work,
}

impl<'v> Io<'v> {
    /// A count that begins at zero.
    #[must_use]
    pub fn new(view: &'v View, collection: &'v Collection) -> Io<'v> {
        Io {
            view,
            collection,
            work: Work::default(),
        }
    }

    /// Living entries of a span.
    pub(crate) async fn entries(
        &mut self,
        span: EntrySpan,
        reverse: bool,
        rows_max: usize,
    ) -> Result<EntryPage> {
        let page = self
            .view
            .entries(self.collection, span, reverse, rows_max)
            .await?;
        self.work.index_entries_read += page.read;
        Ok(page)
    }

    /// Living items.
    pub(crate) async fn items(&mut self, keys: &[ItemKey]) -> Result<Vec<Option<Live<Bytes>>>> {
        let items = self.view.items(self.collection, keys).await?;
        for item in items.iter().flatten() {
            self.read(item);
        }
        Ok(items)
    }

    /// All living items of a range by creation, if they are not more than so many and not large. They are not counted as read:
    /// whoever hands them out does that.
    pub(crate) async fn gather(
        &self,
        range: &ItemRange,
        items_max: usize,
    ) -> Result<Option<Vec<(ItemKey, Live<Bytes>)>>> {
        let limits = ScanLimits {
            items_max: items_max.saturating_add(1),
            bytes_max: GATHERED_BYTES_MAX,
        };
        let page = self.view.scan(self.collection, range, None, limits).await?;
        if page.resume.is_some() {
            return Ok(None);
        }
        let mut items = page.items;
        items.sort_unstable_by_key(|(_, item)| item.header().ordinal);
        Ok(Some(items))
    }

    pub(crate) fn read(&mut self, item: &Live<Bytes>) {
        self.work.items_read += 1;
        self.work.loaded_bytes += item.body().len() as u64;
    }
}
