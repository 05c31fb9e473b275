//! Builds a named index for the documents that were there before it.
//!
//! From the index's creation on writers write its entries, claim its unique values and keep its dates, so only documents
//! created before it are behind. The builder walks through them in the order of their creation, a few at a time. Each step
//! relies on every record it read and on the collection's settings, as any writer does: whoever writes meanwhile wins, and
//! the step runs again. A build that was cut off begins anew: what it did is done again without harm.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use lapsedb_kv::{Batch, Engine, Expect, Scan, Snapshot, Space, Template};
use lapsedb_record::{Dated, Dates, Header, Lens, Live, Mark, Stored};
use lapsedb_value::{Object, bson};
use parking_lot::Mutex;

use super::NamedIndex;
use super::keys::{NamedTerms, terms_in};
use crate::Store;
use crate::catalog::Collection;
use crate::entries::{Entries, put_marked, unique_holder};
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, ItemKey, MetaKind};
use crate::txn::Refused;
use crate::view::View;

/// Documents of one step at most.
const STEP_DOCUMENTS_MAX: usize = 100;
/// Bytes of documents in one step; the one that passes it is still part of the step.
const STEP_BYTES_MAX: usize = 1 << 20;

/// How a build has ended.
#[derive(Debug)]
pub enum Built {
    /// Queries may use the index, and it ends documents.
    Whole {
        /// How many living documents it went through.
        documents: u64,
        /// How many of them have a date that can end them.
        dated: u64,
    },
    /// The index was dropped meanwhile.
    Gone,
    /// Somebody else is building it.
    Elsewhere,
    /// A document cannot stand in it. The index is dropped again.
    Refused(Refused),
}

/// Which indexes are being built by this process.
#[derive(Debug, Default)]
pub(crate) struct Builders(Mutex<HashSet<(CollectionId, u32)>>);

pub(super) struct Turn<'a> {
    builders: &'a Builders,
    index: (CollectionId, u32),
}

impl Builders {
    pub(super) fn begin(&self, index: (CollectionId, u32)) -> Option<Turn<'_>> {
        let free = self.0.lock().insert(index);
        free.then_some(Turn {
            builders: self,
            index,
        })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.builders.0.lock().remove(&self.index);
    }
}

/// What a build has seen so far.
#[derive(Default)]
struct Seen {
    /// The ordinal up to which all is done.
    after: u64,
    documents: u64,
    dated: u64,
}

impl Store {
    /// Builds an index to its end.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn build_named_index(&self, cid: CollectionId, number: u32) -> Result<Built> {
        let mut all = self.build_named_indexes(cid, &[number]).await?;
        Ok(all.pop().unwrap_or(Built::Gone))
    }

    /// Builds several indexes, which become whole in one change, or all go if one of them cannot be built. Where there are no
    /// documents, each becomes whole by itself.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn build_named_indexes(
        &self,
        cid: CollectionId,
        numbers: &[u32],
    ) -> Result<Vec<Built>> {
        let (mut turns, mut own) = (Vec::new(), Vec::new());
        let mut all = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let Some(turn) = self.builders().begin((cid, number)) else {
                all.push(Built::Elsewhere);
                continue;
            };
            turns.push(turn);
            let (built, dates) = self.go_through(cid, number).await?;
            own.push((number, dates));
            let refused = matches!(built, Built::Refused(_));
            all.push(built);
            if refused {
                for &number in numbers {
                    self.give_up(cid, number).await?;
                }
                return Ok(all);
            }
        }
        let empty = |built: &Built| match built {
            Built::Whole { documents, .. } => *documents == 0,
            Built::Gone | Built::Elsewhere | Built::Refused(_) => true,
        };
        let together = if all.iter().all(empty) {
            1
        } else {
            own.len().max(1)
        };
        for built in own.chunks(together) {
            while let Err(error) = self.finish_indexes(cid, built).await {
                match error {
                    StoreError::Retry => tokio::task::yield_now().await,
                    error => return Err(error),
                }
            }
        }
        Ok(all)
    }

    /// Takes all documents that were there before into an index; says under which numbers they keep its dates.
    async fn go_through(&self, cid: CollectionId, number: u32) -> Result<(Built, Vec<u32>)> {
        let mut dates = None;
        let (mut seen, mut size, mut until) = (Seen::default(), STEP_DOCUMENTS_MAX, None);
        loop {
            let view = self.view().await?;
            let Some(collection) = view.catalog().collection_numbered(cid) else {
                return Ok((Built::Gone, Vec::new()));
            };
            let Some(index) = collection.indexes.numbered(number) else {
                return Ok((Built::Gone, Vec::new()));
            };
            if dates.as_ref() != Some(&index.dates) {
                // It has begun to end documents: those that it went through have not told their dates.
                (seen, until) = (Seen::default(), None);
                dates = Some(index.dates.clone());
            }
            // Documents that later commits create are written with all that belongs to the index.
            let until = *until.get_or_insert(view.lsn());
            let step = Step {
                store: self,
                view: &view,
                collection,
                index,
                lens: view.lens(collection),
                batch: Batch::new(),
                claimed: HashMap::new(),
            };
            match step.run(&mut seen, until, size).await {
                Ok(Outcome::More) => size = (size * 2).min(STEP_DOCUMENTS_MAX),
                Ok(Outcome::Whole) => {
                    let built = Built::Whole {
                        documents: seen.documents,
                        dated: seen.dated,
                    };
                    return Ok((built, dates.unwrap_or_default()));
                }
                Ok(Outcome::Refused(refused)) => {
                    return Ok((Built::Refused(refused), Vec::new()));
                }
                // The fewer documents a step relies on, the sooner it finds a moment in which nobody writes them.
                Err(StoreError::Retry) => size = (size / 2).max(1),
                Err(error) => return Err(error),
            }
            tokio::task::yield_now().await;
        }
    }

    /// Drops an index that cannot be built, or shall not be.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn give_up(&self, cid: CollectionId, number: u32) -> Result<()> {
        loop {
            let view = self.view().await?;
            let Some(collection) = view.catalog().collection_numbered(cid) else {
                return Ok(());
            };
            if collection.indexes.numbered(number).is_none() {
                return Ok(());
            }
            match self.drop_named_index(&view, collection, number).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Retry) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

enum Outcome {
    More,
    Whole,
    Refused(Refused),
}

struct Step<'a> {
    store: &'a Store,
    view: &'a View,
    collection: &'a Arc<Collection>,
    index: &'a NamedIndex,
    lens: Lens,
    batch: Batch,
    /// Who has claimed which unique values in this step.
    claimed: HashMap<Vec<u8>, u64>,
}

impl Step<'_> {
    async fn run(mut self, seen: &mut Seen, until: u64, size: usize) -> Result<Outcome> {
        let cid = self.collection.cid;
        let scan = Scan {
            space: Space::Order,
            from: keys::order(cid, seen.after.saturating_add(1)),
            to: keys::order_after(cid, until),
            reverse: false,
            rows_max: size,
            bytes_max: STEP_BYTES_MAX,
        };
        let page = self.view.snapshot.scan(scan).await?;
        if page.rows.is_empty() || !self.index.is_unfinished() {
            return Ok(Outcome::Whole);
        }
        self.batch.check(
            Space::Meta,
            keys::meta_numbered(MetaKind::Collection, cid.0),
            Expect::StartsWith(self.collection.version.to_be_bytes().to_vec()),
        );
        let mut next = Seen { ..*seen };
        let mut bytes = 0;
        for (key, value) in page.rows {
            match self.document(&value, &mut next).await? {
                Ok(read) => bytes += read,
                Err(refused) => return Ok(Outcome::Refused(refused)),
            }
            next.after = key
                .last_chunk::<8>()
                .map(|bytes| u64::from_be_bytes(*bytes))
                .ok_or_else(|| StoreError::Corrupt("an order entry's key is too short".into()))?;
            if bytes >= STEP_BYTES_MAX {
                break;
            }
        }
        self.store.engine().commit(self.batch).await?;
        *seen = next;
        Ok(Outcome::More)
    }

    /// Adds what the document that an order entry names has in the index. Answers its size.
    async fn document(
        &mut self,
        entry: &[u8],
        seen: &mut Seen,
    ) -> Result<std::result::Result<usize, Refused>> {
        let (mark, tail) = Mark::split(entry)?;
        if !mark.is_live(&self.lens) {
            return Ok(Ok(0));
        }
        let key = ItemKey::from_tail(self.collection.cid, tail);
        let Some(bytes) = self.view.snapshot.get(Space::Items, key.as_bytes()).await? else {
            return Ok(Ok(0));
        };
        let bytes = Bytes::from(bytes);
        let Some(live) = Stored::new(bytes.clone()).reveal(&self.lens)? else {
            return Ok(Ok(0));
        };
        let head = bytes.get(..live.header().length()).unwrap_or_default();
        let expect = Expect::StartsWith(head.to_vec());
        self.batch.check(Space::Items, key.as_bytes(), expect);
        let document = bson::read_document(live.body())?;
        let terms = match terms_in(self.collection, self.index, &document) {
            Ok(terms) => terms,
            Err(unindexable) => return Ok(Err(Refused::Unindexable(unindexable))),
        };
        if let Err(refused) = self.claim(live.header(), &terms, &document).await? {
            return Ok(Err(refused));
        }
        seen.documents += 1;
        seen.dated += u64::from(!terms.dates.is_empty());
        for note in &terms.notes {
            note.put(&mut self.batch, self.collection.cid);
        }
        match terms.dates.first() {
            Some(date) if !live.header().dates.contains(date) => {
                self.rewrite(&key, &live, *date, &terms, &document).await?;
            }
            Some(_) | None => self.add_entries(&key, live.header(), &terms),
        }
        Ok(Ok(live.body().len()))
    }

    /// Refuses unique values that another living document holds, and makes the commit depend on that.
    async fn claim(
        &mut self,
        header: &Header,
        terms: &NamedTerms,
        document: &Object,
    ) -> Result<std::result::Result<(), Refused>> {
        let own = header.ordinal;
        for (key, _) in &terms.unique {
            let duplicate = || {
                Err(Refused::duplicate(
                    self.collection,
                    self.index,
                    document,
                    key,
                ))
            };
            if *self.claimed.entry(key.clone()).or_insert(own) != own {
                return Ok(duplicate());
            }
            let expect = match self.view.snapshot.get(Space::Unique, key).await? {
                None => Expect::Absent,
                Some(entry) => {
                    let (mark, rest) = Mark::split(entry.as_ref())?;
                    let (holder, _) = unique_holder(self.collection.cid, rest)?;
                    if holder != own && mark.is_live(&self.lens) {
                        return Ok(duplicate());
                    }
                    Expect::StartsWith(entry.as_ref().to_vec())
                }
            };
            self.batch.check(Space::Unique, key.as_slice(), expect);
        }
        Ok(Ok(()))
    }

    /// Puts the entries of a document whose mark stays as it is.
    fn add_entries(&mut self, key: &ItemKey, header: &Header, terms: &NamedTerms) {
        let mut mark = Vec::new();
        header.mark().write(&mut mark);
        let ordinal = header.ordinal.to_be_bytes();
        for stem in &terms.stems {
            let value = [&mark, key.tail()].concat();
            let entry = Template::from([stem.as_slice(), &ordinal].concat());
            self.batch.put(Space::Index, entry, Template::from(value));
        }
        for (unique, _) in &terms.unique {
            let value = [&mark, ordinal.as_slice(), key.tail()].concat();
            let unique = Template::from(unique.as_slice());
            self.batch.put(Space::Unique, unique, Template::from(value));
        }
    }

    /// Writes a document's record and all that belongs to it with one more date. Nothing else changes, neither its write
    /// time nor its place in the log.
    async fn rewrite(
        &mut self,
        key: &ItemKey,
        live: &Live<Bytes>,
        date: Dated,
        terms: &NamedTerms,
        document: &Object,
    ) -> Result<()> {
        let mut header = live.header().clone();
        self.forget_dates(&mut header);
        header.dates.push(date);
        let (partition, _) = keys::address_of(self.collection, key)
            .ok_or_else(|| StoreError::Corrupt("an item's key cannot be read".into()))?;
        let mut entries = Entries::of_stored(self.collection, key, &partition, &header, document);
        let mut own: Vec<_> = terms.unique.iter().map(|(key, _)| key.clone()).collect();
        for key in entries.take_unique() {
            if own.contains(&key) {
                continue;
            }
            // Of an index that is being built meanwhile it may not have its values yet.
            let Some(entry) = self.view.snapshot.get(Space::Unique, &key).await? else {
                continue;
            };
            let (_, rest) = Mark::split(entry.as_ref())?;
            if unique_holder(self.collection.cid, rest)?.0 == header.ordinal {
                let expect = Expect::StartsWith(entry.as_ref().to_vec());
                self.batch.check(Space::Unique, key.as_slice(), expect);
                own.push(key);
            }
        }
        entries.set_unique(own);
        let mut record = Vec::with_capacity(header.length() + live.body().len());
        header.write(live.body(), &mut record);
        let place = Template::from(key.as_bytes());
        self.batch.put(Space::Items, place, Template::from(record));
        put_marked(&mut self.batch, self.collection, &entries);
        Ok(())
    }
}

impl Step<'_> {
    /// Takes out of a living document's header the dates that can end it no more: those of indexes that are gone, which have
    /// buried all they ever will, and an older one of this index. Else they would grow with every index made and dropped.
    fn forget_dates(&mut self, header: &mut Header) {
        let indexes = self.collection.indexes.all().iter();
        let others = indexes.filter(|index| index.number != self.index.number);
        let kept: HashSet<u32> = others
            .flat_map(|index| index.dates.iter().copied())
            .chain(self.collection.indexes.base_numbers())
            .collect();
        let (gone, left): (Dates, Dates) = header
            .dates
            .iter()
            .copied()
            .partition(|date| !kept.contains(&date.number));
        header.dates = left;
        for Dated { number, at } in gone {
            let key = keys::due_date(self.collection.cid, number, at, header.ordinal);
            self.batch.delete(Space::Due, key);
        }
    }
}
