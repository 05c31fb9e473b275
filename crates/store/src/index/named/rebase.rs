//! Gives the documents that were there before the base which a collection's new path says they have.
//!
//! From the change on writers write by the new path, so only older documents are behind. They are gone through in the order of
//! their creation, a few at a time. A living one is judged by its former base up to the commit that gives it the new one, which
//! comes before its end: so nothing comes back. One that has expired keeps what it has.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_kv::{Batch, Engine, Expect, Scan, Snapshot, Space, Template};
use lapsedb_record::{Expiry, Lens, Mark, Stored};
use lapsedb_value::bson;

use super::TtlBase;
use crate::catalog::Collection;
use crate::entries::{Entries, put_entries, remove_entries};
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, ItemKey, MetaKind};
use crate::view::View;
use crate::{MetaChange, Store};

/// Documents of one step at most.
const STEP_DOCUMENTS_MAX: usize = 100;
/// Bytes of documents in one step; the one that passes it is still part of the step.
const STEP_BYTES_MAX: usize = 1 << 20;
/// The number that stands for bases among the indexes that are being built: no index has it.
const BASES: u32 = 0;

/// How far bases are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// Every living document is judged by the base it has at the collection's path.
    Whole,
    /// Somebody else is giving them their bases.
    Elsewhere,
}

impl Store {
    /// Gives all living documents their bases, if a change of the path has left that to do.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn rebase(&self, cid: CollectionId) -> Result<Rebased> {
        let Some(_turn) = self.builders().begin((cid, BASES)) else {
            return Ok(Rebased::Elsewhere);
        };
        let (mut known, mut size) = (None, STEP_DOCUMENTS_MAX);
        let (mut after, mut until) = (0, 0);
        loop {
            let view = self.view().await?;
            let Some(collection) = view.catalog().collection_numbered(cid) else {
                return Ok(Rebased::Whole);
            };
            let unfinished = collection.indexes.base();
            let Some(base) = unfinished.filter(|_| collection.indexes.is_rebasing()) else {
                return Ok(Rebased::Whole);
            };
            if known.as_ref() != Some(base) {
                // Documents that later commits create are written by what is in force now.
                (after, until) = (0, view.lsn());
                known = Some(base.clone());
            }
            let step = Step {
                view: &view,
                collection,
                base,
                lens: view.lens(collection),
                batch: Batch::new(),
                ends: Expiry::Never,
            };
            let done = match step.run(self, after, until, size).await {
                Ok(Some(last)) => {
                    (after, size) = (last, (size * 2).min(STEP_DOCUMENTS_MAX));
                    Ok(())
                }
                Ok(None) => self.finish_bases(cid, base).await,
                Err(error) => Err(error),
            };
            match done {
                Ok(()) => {}
                // The fewer documents a step relies on, the sooner it finds a moment in which nobody writes them.
                Err(StoreError::Retry) => size = (size / 2).max(1),
                Err(error) => return Err(error),
            }
            tokio::task::yield_now().await;
        }
    }

    /// Says that all living documents have their bases.
    async fn finish_bases(&self, cid: CollectionId, base: &TtlBase) -> Result<()> {
        let view = self.view().await?;
        let collection = view.catalog().collection_numbered(cid);
        let same = |collection: &&Arc<Collection>| collection.indexes.base() == Some(base);
        if let Some(collection) = collection.filter(same) {
            let mut change = MetaChange::default();
            let ttl = collection.ttl_rebased(view.now());
            ttl.put(collection.body(), &mut change);
            self.change_catalog(&view, change).await?;
        }
        Ok(())
    }
}

struct Step<'a> {
    view: &'a View,
    collection: &'a Arc<Collection>,
    base: &'a TtlBase,
    lens: Lens,
    batch: Batch,
    /// When the first of the documents that get another base ends by what it has.
    ends: Expiry,
}

impl Step<'_> {
    /// Goes through the next documents behind an ordinal; says the last one, or that there are none.
    async fn run(
        mut self,
        store: &Store,
        after: u64,
        until: u64,
        size: usize,
    ) -> Result<Option<u64>> {
        let cid = self.collection.cid;
        let scan = Scan {
            space: Space::Order,
            from: keys::order(cid, after.saturating_add(1)),
            to: keys::order_after(cid, until),
            reverse: false,
            rows_max: size,
            bytes_max: STEP_BYTES_MAX,
        };
        let page = self.view.snapshot.scan(scan).await?;
        self.batch.check(
            Space::Meta,
            keys::meta_numbered(MetaKind::Collection, cid.0),
            Expect::StartsWith(self.collection.version.to_be_bytes().to_vec()),
        );
        let (mut last, mut bytes, mut any) = (None, 0, false);
        for (key, entry) in page.rows {
            let rewritten = self.document(&entry).await?;
            bytes += rewritten.unwrap_or(0);
            any |= rewritten.is_some();
            let ordinal = key
                .last_chunk::<8>()
                .map(|ordinal| u64::from_be_bytes(*ordinal));
            last =
                Some(ordinal.ok_or_else(|| {
                    StoreError::Corrupt("an order entry's key is too short".into())
                })?);
            if bytes >= STEP_BYTES_MAX {
                break;
            }
        }
        if let Expiry::At(end) = self.ends {
            self.batch.not_after(end.0);
        }
        if any {
            store.engine().commit(self.batch).await?;
        }
        Ok(last)
    }

    /// Writes the record that an order entry names, and all that belongs to it, with the base it is to have; neither its write
    /// time nor its place in the log changes. Answers its size, if it had to be written.
    async fn document(&mut self, entry: &[u8]) -> Result<Option<usize>> {
        let (mark, tail) = Mark::split(entry)?;
        if !mark.is_live(&self.lens) {
            return Ok(None);
        }
        let key = ItemKey::from_tail(self.collection.cid, tail);
        let Some(bytes) = self.view.snapshot.get(Space::Items, key.as_bytes()).await? else {
            return Ok(None);
        };
        let bytes = Bytes::from(bytes);
        let Some(live) = Stored::new(bytes.clone()).reveal(&self.lens)? else {
            return Ok(None);
        };
        let document = bson::read_document(live.body())?;
        let Some(header) = self.base.rebased(live.header(), &document) else {
            return Ok(None);
        };
        let head = bytes.get(..live.header().length()).unwrap_or_default();
        let expect = Expect::StartsWith(head.to_vec());
        self.batch.check(Space::Items, key.as_bytes(), expect);
        self.ends = self.ends.earlier(live.expiry(&self.lens));
        let (partition, _) = keys::address_of(self.collection, &key)
            .ok_or_else(|| StoreError::Corrupt("an item's key cannot be read".into()))?;
        let entries =
            |header| Entries::of_stored(self.collection, &key, &partition, header, &document);
        let (mut old, mut new) = (entries(live.header()), entries(&header));
        let held = old.keep_own_unique(self.view, self.collection.cid, &mut self.batch);
        new.set_unique(held.await?);
        remove_entries(&mut self.batch, self.collection, &old, Some(&new));
        let mut record = Vec::with_capacity(header.length() + live.body().len());
        header.write(live.body(), &mut record);
        let place = Template::from(key.as_bytes());
        self.batch.put(Space::Items, place, Template::from(record));
        put_entries(&mut self.batch, self.collection, &new);
        Ok(Some(live.body().len()))
    }
}
