//! Builds the index of a collection for the items that were there when its policy changed.
//!
//! From the change on writers write entries of the new generation, so only items created before it are behind. The
//! builder walks through them in the order of their creation, a few at a time. Each step is one transaction that relies
//! on every record it read and on the collection's settings, as any writer does: whoever writes meanwhile wins, and the
//! step runs again. How far it has come is part of the same transaction, so a killed process goes on where it ended.
//! Until all is done queries do not ask the index; what is dead gets no entries, for it never comes back.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_kv::{Batch, Engine, Expect, Scan, Snapshot, Space, Template};
use lapsedb_record::{Mark, Stored};
use lapsedb_value::{Object, Value, bson};

use crate::catalog::{Collection, MetaRecord};
use crate::entries::put_index_entries;
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, ItemKey, MetaKind};
use crate::view::View;
use crate::{MetaChange, Store, meta_value};

/// Items of one step at most.
const STEP_ITEMS_MAX: usize = 100;
/// Bytes of items in one step; the item that passes it is still part of the step.
const STEP_BYTES_MAX: usize = 1 << 20;
/// How often a step may find that somebody has written what it read, before the rest is left for later.
const CONFLICTS_MAX: u32 = 64;

/// How far the index of a collection's generation has been built, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Build {
    /// The generation.
    pub(crate) generation: u32,
    /// Whether every item has its entries.
    pub(crate) whole: bool,
    /// Items created by later commits were written with their entries.
    until: u64,
    /// The ordinal up to which all items have their entries.
    after: u64,
    /// How many items lie up to there.
    done: u64,
    /// How many there were in all.
    total: u64,
}

impl Build {
    /// What a stored record says.
    pub(crate) fn read(record: &MetaRecord) -> Result<Build> {
        let number = |name: &str| {
            let number = record.body.get(name).and_then(Value::as_i64);
            number
                .map(i64::cast_unsigned)
                .ok_or_else(|| StoreError::Corrupt(format!("an index build lacks `{name}`")))
        };
        Ok(Build {
            generation: u32::try_from(number("generation")?).unwrap_or(u32::MAX),
            whole: matches!(record.body.get("whole"), Some(Value::Bool(true))),
            until: number("until")?,
            after: number("after")?,
            done: number("done")?,
            total: number("total")?,
        })
    }

    fn body(self) -> Object {
        let mut body = Object::with_capacity(6);
        body.push("generation", Value::Int64(i64::from(self.generation)));
        body.push("whole", Value::Bool(self.whole));
        for (name, number) in [
            ("until", self.until),
            ("after", self.after),
            ("done", self.done),
            ("total", self.total),
        ] {
            body.push(name, Value::Int64(number.cast_signed()));
        }
        body
    }

    /// Hundredths, rounded down; the last one only when it is whole.
    fn progress(self) -> u8 {
        match self.done.saturating_mul(100).checked_div(self.total) {
            _ if self.whole => 100,
            Some(share) => u8::try_from(share.min(99)).unwrap_or(99),
            None => 0,
        }
    }
}

/// What a step has done.
enum Step {
    /// Entries for so many items.
    Built(u64),
    /// No item was left, and the catalog says so.
    Finished,
}

impl View {
    /// How far a collection's index has been built, in hundredths of its items: 100 when queries can use it.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn index_progress(&self, collection: &Collection) -> Result<u8> {
        if collection.index_is_whole() {
            return Ok(100);
        }
        Ok(match stored(self, collection).await? {
            Some((_, build)) if build.generation == collection.index_generation => build.progress(),
            Some(_) | None => 0,
        })
    }
}

impl Store {
    /// Writes entries for about so many items of a collection that has none for them; true when nothing is left to do.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn build_index(&self, cid: CollectionId, items_max: u64) -> Result<bool> {
        let (mut room, mut size, mut conflicts) = (items_max, STEP_ITEMS_MAX, 0);
        while room > 0 && conflicts < CONFLICTS_MAX {
            let view = self.view().await?;
            let collection = match view.catalog().collection_numbered(cid) {
                Some(collection) if !collection.index_is_whole() => Arc::clone(collection),
                Some(_) | None => return Ok(true),
            };
            let size_now = size.min(usize::try_from(room).unwrap_or(usize::MAX));
            match self.build_step(&view, &collection, size_now).await {
                Ok(Step::Finished) => return Ok(true),
                Ok(Step::Built(items)) => {
                    room = room.saturating_sub(items.max(1));
                    size = (size * 2).min(STEP_ITEMS_MAX);
                }
                // The fewer items a step relies on, the sooner it finds a moment in which nobody writes them.
                Err(StoreError::Retry) => {
                    size = (size / 2).max(1);
                    conflicts += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    async fn build_step(&self, view: &View, collection: &Collection, size: usize) -> Result<Step> {
        let found = stored(view, collection).await?;
        let (expect, build) = match &found {
            Some((lsn, build)) => (
                Expect::StartsWith(lsn.to_be_bytes().to_vec()),
                Some(*build).filter(|build| build.generation == collection.index_generation),
            ),
            None => (Expect::Absent, None),
        };
        let build = match build {
            Some(build) => build,
            None => self.begin(view, collection).await?,
        };
        let record = keys::meta_numbered(MetaKind::IndexBuild, collection.cid.0);
        let page = view
            .snapshot
            .scan(remaining(collection, build, size))
            .await?;
        if page.rows.is_empty() || !collection.index.is_complete() {
            let mut change = MetaChange::default();
            let whole = Build {
                whole: true,
                ..build
            };
            change.put(record, whole.body());
            self.change_catalog(view, change).await?;
            return Ok(Step::Finished);
        }
        let mut batch = Batch::new();
        // As every writer's: the settings must be those that the entries are made by.
        batch.check(
            Space::Meta,
            keys::meta_numbered(MetaKind::Collection, collection.cid.0),
            Expect::StartsWith(collection.version.to_be_bytes().to_vec()),
        );
        batch.check(Space::Meta, record.as_slice(), expect);
        let mut next = build;
        let (mut bytes, mut items) = (0, 0);
        for (key, value) in page.rows {
            bytes += add_item(view, collection, &value, &mut batch).await?;
            next.after = ordinal_of(&key)?;
            next.done += 1;
            items += 1;
            if bytes >= STEP_BYTES_MAX {
                break;
            }
        }
        batch.put(
            Space::Meta,
            Template::from(record),
            meta_value(&next.body()),
        );
        self.engine().commit(batch).await?;
        tokio::task::yield_now().await;
        Ok(Step::Built(items))
    }

    /// A build that has done nothing yet, after what earlier generations have left is removed.
    async fn begin(&self, view: &View, collection: &Collection) -> Result<Build> {
        self.drop_index_before(collection.cid, collection.index_generation)
            .await?;
        let usage = view.usage(collection).await?;
        Ok(Build {
            generation: collection.index_generation,
            whole: false,
            until: view.lsn(),
            after: 0,
            done: 0,
            total: usage.live.items + usage.expired.items,
        })
    }

    /// Removes the index entries of all older generations.
    async fn drop_index_before(&self, cid: CollectionId, generation: u32) -> Result<()> {
        let (from, to) = (
            keys::index_prefix(cid, 0),
            keys::index_prefix(cid, generation),
        );
        Ok(self.engine().drop_range(Space::Index, &from, &to).await?)
    }
}

/// What is stored about the build of a collection's index, and the commit that wrote it.
async fn stored(view: &View, collection: &Collection) -> Result<Option<(u64, Build)>> {
    let key = keys::meta_numbered(MetaKind::IndexBuild, collection.cid.0);
    match view.meta(&key).await? {
        Some(record) => Ok(Some((record.lsn, Build::read(&record)?))),
        None => Ok(None),
    }
}

/// The order entries of the items that are still to be done.
fn remaining(collection: &Collection, build: Build, size: usize) -> Scan {
    Scan {
        space: Space::Order,
        from: keys::order(collection.cid, build.after.saturating_add(1)),
        to: keys::order_after(collection.cid, build.until),
        reverse: false,
        rows_max: size,
        bytes_max: STEP_BYTES_MAX,
    }
}

fn ordinal_of(key: &[u8]) -> Result<u64> {
    key.last_chunk::<8>()
        .map(|bytes| u64::from_be_bytes(*bytes))
        .ok_or_else(|| StoreError::Corrupt("an order entry's key is too short".into()))
}

/// Adds the entries of the item that an order entry names, on the condition that it stays as it is. Answers its size.
async fn add_item(
    view: &View,
    collection: &Collection,
    entry: &[u8],
    batch: &mut Batch,
) -> Result<usize> {
    let lens = view.lens(collection);
    let (mark, tail) = Mark::split(entry)?;
    if !mark.is_live(&lens) {
        return Ok(0);
    }
    let key = ItemKey::from_tail(collection.cid, tail);
    let Some(bytes) = view.snapshot.get(Space::Items, key.as_bytes()).await? else {
        return Ok(0);
    };
    let bytes = Bytes::from(bytes);
    let Some(live) = Stored::new(bytes.clone()).reveal(&lens)? else {
        return Ok(0);
    };
    let head = bytes.get(..live.header().length()).unwrap_or_default();
    let document = bson::read_document(live.body())?;
    batch.check(
        Space::Items,
        key.as_bytes(),
        Expect::StartsWith(head.to_vec()),
    );
    put_index_entries(batch, collection, &key, live.header(), &document);
    Ok(live.body().len())
}
