//! A snapshot, a catalog and a time, fixed for one request. All reads go through it.

mod passing;
mod walk;

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_kv::{AnyEngine, Engine, Snapshot, Space};
use lapsedb_record::{Lens, Live, Mark, Millis, Stored};

use crate::catalog::{Catalog, Collection, MetaRecord};
use crate::change_feed::Within;
use lapsedb_value::Value;

use crate::error::Result;
use crate::index::encode::{self, PathId};
use crate::keys::{self, ItemKey};
use crate::partition_key::{EpkRange, PartitionKey, epk_bytes};
use crate::views::Generation;

use walk::Walk;

/// The engine's snapshot behind a view.
pub type EngineSnapshot = <AnyEngine as Engine>::Snapshot;
/// A living item as read: its bytes are the engine's own.
pub type LiveItem = Live<<EngineSnapshot as Snapshot>::Slice>;

/// What one request sees.
pub struct View {
    pub(crate) snapshot: EngineSnapshot,
    catalog: Arc<Catalog>,
    now: Millis,
    _held: Arc<Generation>,
}

/// Which items of a collection a scan covers.
#[derive(Clone, Debug)]
pub enum ItemRange {
    /// All, in the order of their creation.
    Everything,
    /// One logical partition, by id: [`View::scan`] reads items as they lie.
    Partition(PartitionKey),
    /// All partitions under the first levels of a hierarchical key, by partition and id.
    Prefix(PartitionKey),
    /// All whose effective partition key lies in a range, by partition and id.
    Epk(EpkRange),
    /// Some partitions, prefixes of partitions and single items, in the order of their keys.
    Spans(Vec<Span>),
}

/// A stretch of item keys, from (inclusive) to (exclusive).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Span {
    /// The span of the index entries with one value at a path.
    #[must_use]
    pub fn of_value(collection: &Collection, path: PathId, value: &Value) -> Span {
        Span::of_prefix(collection, path, &encode::value_bytes(value))
    }

    /// The span of the index entries at a path whose values begin with these bytes; of all of them, if there are none.
    #[must_use]
    pub fn of_prefix(collection: &Collection, path: PathId, bytes: &[u8]) -> Span {
        let from = keys::index_stem(collection, path.0, bytes);
        let to = lapsedb_kv::prefix_end(&from);
        Span { from, to }
    }

    /// The span of one item.
    #[must_use]
    pub fn of_item(key: &ItemKey) -> Span {
        let from = key.as_bytes().to_vec();
        let to = [from.as_slice(), &[0]].concat();
        Span { from, to }
    }

    /// The span of a whole partition, or of all that begin with the first levels of a hierarchical key: of these it may hold a few
    /// more, see [`keys::is_under`].
    #[must_use]
    pub fn of_partition(collection: &Collection, partition: &PartitionKey) -> Span {
        let from = if partition.components().len() < collection.partition_key.paths.len() {
            let mut prefix = keys::collection_prefix(collection.cid);
            prefix.extend_from_slice(&epk_bytes(&collection.partition_key, partition));
            prefix
        } else {
            keys::partition_prefix(collection, partition)
        };
        let to = lapsedb_kv::prefix_end(&from);
        Span { from, to }
    }

    /// Whether one of some spans, sorted and apart from each other, holds a key.
    pub(crate) fn any_holds(spans: &[Span], key: &ItemKey) -> bool {
        let key = key.as_bytes();
        let begun = spans.partition_point(|span| span.from.as_slice() <= key);
        let last = begun.checked_sub(1).and_then(|at| spans.get(at));
        last.is_some_and(|span| span.to.is_empty() || key < span.to.as_slice())
    }
}

impl ItemRange {
    /// The same items as spans, where that can be said without looking at each key.
    #[must_use]
    pub fn into_spans(self, collection: &Collection) -> ItemRange {
        match self {
            ItemRange::Partition(partition) => {
                ItemRange::Spans(vec![Span::of_partition(collection, &partition)])
            }
            ItemRange::Everything
            | ItemRange::Prefix(_)
            | ItemRange::Epk(_)
            | ItemRange::Spans(_) => self,
        }
    }

    /// Whether an item lies in the range.
    #[must_use]
    pub fn contains(&self, collection: &Collection, key: &ItemKey) -> bool {
        Within::new(collection, self).contains(collection, key)
    }

    /// The items of some spans, each once, however they overlap.
    #[must_use]
    pub fn spans(spans: Vec<Span>) -> ItemRange {
        ItemRange::Spans(merged(spans))
    }

    /// Bounds of the item keys it covers, and perhaps a few more; none for everything.
    pub(crate) fn item_bounds(&self, collection: &Collection) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let bounds = |span: Span| (span.from, span.to);
        match self {
            ItemRange::Everything => None,
            ItemRange::Partition(partition) | ItemRange::Prefix(partition) => {
                Some(vec![bounds(Span::of_partition(collection, partition))])
            }
            ItemRange::Epk(range) => Some(vec![keys::epk_bounds(collection, range)]),
            ItemRange::Spans(spans) => Some(spans.iter().cloned().map(bounds).collect()),
        }
    }
}

/// Spans in order, none overlapping another.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.from <= last.to => last.to = last.to.clone().max(span.to),
            Some(_) | None => merged.push(span),
        }
    }
    merged
}

/// A stretch of living items.
#[derive(Default)]
pub struct ItemPage {
    /// Key and item, in scan order.
    pub items: Vec<(ItemKey, Live<Bytes>)>,
    /// Where a scan that begins with the item at the same index would begin.
    pub places: Vec<Bytes>,
    /// Where the next stretch begins; none at the end. Opaque to everyone but the next scan.
    pub resume: Option<Vec<u8>>,
    /// How many entries were read to find them.
    pub entries_read: u64,
}

/// How much a scan may return.
#[derive(Clone, Copy, Debug)]
pub struct ScanLimits {
    /// Items at most.
    pub items_max: usize,
    /// Bytes of bodies at most; the item that passes it is still returned.
    pub bytes_max: usize,
}

impl View {
    /// A view of a snapshot that was taken after entering the generation.
    pub(crate) fn new(
        held: Arc<Generation>,
        snapshot: EngineSnapshot,
        catalog: Arc<Catalog>,
    ) -> View {
        let now = Millis(snapshot.now());
        View {
            snapshot,
            catalog,
            now,
            _held: held,
        }
    }

    /// The request's time.
    pub const fn now(&self) -> Millis {
        self.now
    }

    /// The newest commit this view sees.
    pub fn lsn(&self) -> u64 {
        self.snapshot.stamp().0
    }

    /// The catalog as of this view.
    pub const fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// What a collection's items are judged by.
    #[must_use]
    pub fn lens(&self, collection: &Collection) -> Lens {
        Lens {
            policy: collection.policy,
            dates: collection.indexes.date_rules().clone(),
            now: self.now,
        }
    }

    /// An item, if it is there and alive.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn get(&self, collection: &Collection, key: &ItemKey) -> Result<Option<LiveItem>> {
        match self.snapshot.get(Space::Items, key.as_bytes()).await? {
            Some(bytes) => Ok(Stored::new(bytes).reveal(&self.lens(collection))?),
            None => Ok(None),
        }
    }

    /// The key of the living item with this creation ordinal.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn key_of(&self, collection: &Collection, ordinal: u64) -> Result<Option<ItemKey>> {
        let Some(entry) = self
            .snapshot
            .get(Space::Order, &keys::order(collection.cid, ordinal))
            .await?
        else {
            return Ok(None);
        };
        let (mark, tail) = Mark::split(entry.as_ref())?;
        let live = mark.is_live(&self.lens(collection));
        Ok(live.then(|| ItemKey::from_tail(collection.cid, tail)))
    }

    /// Living items of a range, from its beginning or from where an earlier scan ended.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn scan(
        &self,
        collection: &Collection,
        range: &ItemRange,
        resume: Option<&[u8]>,
        limits: ScanLimits,
    ) -> Result<ItemPage> {
        let one = |space: Space, (from, to): (Vec<u8>, Vec<u8>)| (space, vec![Span { from, to }]);
        let (space, spans) = match range {
            ItemRange::Everything => {
                let prefix = keys::collection_prefix(collection.cid);
                let to = lapsedb_kv::prefix_end(&prefix);
                one(Space::Order, (prefix, to))
            }
            ItemRange::Partition(partition) | ItemRange::Prefix(partition) => (
                Space::Items,
                vec![Span::of_partition(collection, partition)],
            ),
            ItemRange::Epk(range) => one(Space::Items, keys::epk_bounds(collection, range)),
            ItemRange::Spans(spans) => (Space::Items, spans.clone()),
        };
        let within = match range {
            // Their spans hold other items too.
            ItemRange::Prefix(_) | ItemRange::Epk(_) => Some(Within::new(collection, range)),
            ItemRange::Everything | ItemRange::Partition(_) | ItemRange::Spans(_) => None,
        };
        self.walk(collection, space, spans, within, resume, limits)
            .await
    }

    /// Living items behind some spans of the index, in the order of its entries.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn scan_index(
        &self,
        collection: &Collection,
        spans: &[Span],
        resume: Option<&[u8]>,
        limits: ScanLimits,
    ) -> Result<ItemPage> {
        let spans = merged(spans.to_vec());
        self.walk(collection, Space::Index, spans, None, resume, limits)
            .await
    }

    async fn walk(
        &self,
        collection: &Collection,
        space: Space,
        mut spans: Vec<Span>,
        within: Option<Within<'_>>,
        resume: Option<&[u8]>,
        limits: ScanLimits,
    ) -> Result<ItemPage> {
        // A resume point only ever narrows a span: a forged one yields fewer items, never foreign ones.
        if let Some(resume) = resume {
            spans.retain(|span| span.to.as_slice() > resume);
            if let Some(first) = spans.first_mut()
                && first.from.as_slice() < resume
            {
                first.from = resume.to_vec();
            }
        }
        let mut walk = Walk::new(self, collection, (space, within), limits);
        for span in spans {
            if walk.span(span).await? {
                break;
            }
        }
        Ok(walk.into_page())
    }

    /// A catalog record by its key.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn meta(&self, key: &[u8]) -> Result<Option<MetaRecord>> {
        self.snapshot
            .get(Space::Meta, key)
            .await?
            .map(|bytes| MetaRecord::read(bytes.as_ref()))
            .transpose()
    }

    /// What a client's session has done, if that is kept.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn note(&self, session: &[u8]) -> Result<Option<MetaRecord>> {
        self.meta(&keys::session_note(session)).await
    }

    /// The same snapshot for another statement, which judges by its own time.
    #[must_use]
    pub fn again(&self, now: Millis) -> View {
        View {
            snapshot: self.snapshot.clone(),
            catalog: Arc::clone(&self.catalog),
            now: self.now.max(now),
            _held: Arc::clone(&self._held),
        }
    }

    /// The same view at a later time: a transaction keeps its snapshot but judges each statement by its own time.
    pub fn set_now(&mut self, now: Millis) {
        self.now = self.now.max(now);
    }

    /// All catalog records under a prefix.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn meta_all(&self, prefix: Vec<u8>) -> Result<Vec<MetaRecord>> {
        crate::catalog::load::scan_all(&self.snapshot, prefix).await
    }
}
