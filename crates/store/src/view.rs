//! A snapshot, a catalog and a time, fixed for one request. All reads go through it.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_kv::{AnyEngine, Engine, Scan, Snapshot, Space};
use lapsedb_record::{Lens, Live, MARK_BYTES, Mark, Millis, Stored};

use crate::catalog::{Catalog, Collection, MetaRecord};
use crate::error::{Result, StoreError};
use crate::keys::{self, ItemKey};
use crate::partition_key::{EpkRange, PartitionKey};

/// How many rows one step of a scan asks of the engine.
const SCAN_ROWS_STEP: usize = 256;
/// How many bytes one step of a scan asks of the engine.
const SCAN_BYTES_STEP: usize = 4 << 20;

/// The engine's snapshot behind a view.
pub type EngineSnapshot = <AnyEngine as Engine>::Snapshot;
/// A living item as read: its bytes are the engine's own.
pub type LiveItem = Live<<EngineSnapshot as Snapshot>::Slice>;

/// What one request sees.
pub struct View {
    pub(crate) snapshot: EngineSnapshot,
    catalog: Arc<Catalog>,
    now: Millis,
}

/// Which items of a collection a scan covers.
#[derive(Clone, Debug)]
pub enum ItemRange {
    /// All, in the order of their creation.
    Everything,
    /// One logical partition, by id.
    Partition(PartitionKey),
    /// All whose effective partition key lies in a range, by partition and id.
    Epk(EpkRange),
}

/// A stretch of living items.
pub struct ItemPage {
    /// Key and item, in scan order.
    pub items: Vec<(ItemKey, Live<Bytes>)>,
    /// Where a scan that begins with the item at the same index would begin.
    pub places: Vec<Vec<u8>>,
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
    pub(crate) fn new(snapshot: EngineSnapshot, catalog: Arc<Catalog>) -> View {
        let now = Millis(snapshot.now());
        View {
            snapshot,
            catalog,
            now,
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
        let entry = entry.as_ref();
        if !Mark::read(entry)?.is_live(&self.lens(collection)) {
            return Ok(None);
        }
        let tail = entry
            .get(MARK_BYTES..)
            .ok_or_else(|| StoreError::Corrupt("an order entry is too short".into()))?;
        Ok(Some(ItemKey::from_tail(collection.cid, tail)))
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
        let (space, from, to) = match range {
            ItemRange::Everything => {
                let prefix = keys::collection_prefix(collection.cid);
                let to = lapsedb_kv::prefix_end(&prefix);
                (Space::Order, prefix, to)
            }
            ItemRange::Partition(partition) => {
                let prefix = keys::partition_prefix(collection, partition);
                let to = lapsedb_kv::prefix_end(&prefix);
                (Space::Items, prefix, to)
            }
            ItemRange::Epk(range) => {
                let (from, to) = keys::epk_bounds(collection, range);
                (Space::Items, from, to)
            }
        };
        // A resume point outside the range can only come from a forged token: it yields nothing rather than foreign items.
        let from = match resume {
            Some(resume) if resume >= from.as_slice() => resume.to_vec(),
            Some(_) | None => from,
        };
        let epk = match range {
            ItemRange::Epk(range) => Some(range),
            ItemRange::Everything | ItemRange::Partition(_) => None,
        };
        Walk {
            view: self,
            lens: self.lens(collection),
            collection,
            space,
            epk,
            to,
            limits,
        }
        .run(from)
        .await
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

    /// All catalog records under a prefix.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn meta_all(&self, prefix: Vec<u8>) -> Result<Vec<MetaRecord>> {
        crate::catalog::scan_all(&self.snapshot, prefix).await
    }
}

/// One scan under way.
struct Walk<'a> {
    view: &'a View,
    lens: Lens,
    collection: &'a Collection,
    space: Space,
    epk: Option<&'a EpkRange>,
    to: Vec<u8>,
    limits: ScanLimits,
}

impl Walk<'_> {
    async fn run(&self, mut from: Vec<u8>) -> Result<ItemPage> {
        let mut page = ItemPage {
            items: Vec::new(),
            places: Vec::new(),
            resume: None,
            entries_read: 0,
        };
        let mut bytes_left = self.limits.bytes_max;
        while !from.is_empty() && (self.to.is_empty() || from < self.to) {
            let rows_max = (self.limits.items_max - page.items.len()).clamp(1, SCAN_ROWS_STEP);
            let step = self
                .view
                .snapshot
                .scan(Scan {
                    space: self.space,
                    from: from.clone(),
                    to: self.to.clone(),
                    reverse: false,
                    rows_max,
                    bytes_max: bytes_left.clamp(1, SCAN_BYTES_STEP),
                })
                .await?;
            for (key, value) in step.rows {
                page.entries_read += 1;
                from.clear();
                from.extend_from_slice(&key);
                from.push(0);
                let Some((own, item)) = self.item_of(&key, value).await? else {
                    continue;
                };
                bytes_left = bytes_left.saturating_sub(item.body().len());
                page.items.push((own, item));
                page.places.push(key.to_vec());
                if page.items.len() >= self.limits.items_max || bytes_left == 0 {
                    page.resume = Some(from);
                    return Ok(page);
                }
            }
            if !step.more {
                return Ok(page);
            }
        }
        Ok(page)
    }

    /// The living item an entry stands for.
    async fn item_of(&self, key: &[u8], value: Bytes) -> Result<Option<(ItemKey, Live<Bytes>)>> {
        if self.space == Space::Items {
            let key = ItemKey::from_bytes(key);
            if let Some(range) = self.epk
                && !keys::epk_of(self.collection, &key).is_some_and(|epk| range.contains(epk))
            {
                return Ok(None);
            }
            return Ok(Stored::new(value)
                .reveal(&self.lens)?
                .map(|item| (key, item)));
        }
        if !Mark::read(&value)?.is_live(&self.lens) {
            return Ok(None);
        }
        let key = ItemKey::from_tail(
            self.collection.cid,
            value.get(MARK_BYTES..).unwrap_or_default(),
        );
        let Some(bytes) = self.view.snapshot.get(Space::Items, key.as_bytes()).await? else {
            return Ok(None);
        };
        let item = Stored::new(Bytes::from(bytes)).reveal(&self.lens)?;
        Ok(item.map(|item| (key, item)))
    }
}
