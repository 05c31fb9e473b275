//! Writes: the record, its log, due, order, index and unique entries and the calendar, in one batch.
//!
//! A transaction reads through its view, remembers what it relied on, and commits on the condition that all of it still
//! holds then: the records it read, the collection's settings, and that nothing it found alive has expired meanwhile.
//! If not, the verb runs again. Later operations of one transaction see what earlier ones wrote.

mod capped;
mod done;
mod events;
mod held;
mod operation;
mod record;
mod slots;
mod together;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use lapsedb_kv::{Batch, Engine, Expect, ORDINALS_MAX, Snapshot, Space};
use lapsedb_record::{Expiry, Header, ItemTtl, Lens, Mark, Settled, Stored};
use lapsedb_value::{Object, Str, bson};

pub use capped::Cap;
pub use done::{Done, VersionNumber};
pub use operation::Operation;
pub use together::Note;

use crate::Store;
use crate::catalog::{Collection, UNMADE};
use crate::entries::{Claim, Entries, Shape, put_entries, remove_entries, unique_holder};
use crate::error::{Result, StoreError};
use crate::index::named::NamedIndex;
use crate::index::named::keys::{Unindexable, values_at};
use crate::keys::{self, ItemKey, MetaKind, Ordinal};
use crate::partition_key::PartitionKey;
use crate::settled::{self, Ledger};
use crate::view::View;
pub(crate) use record::Record;

use events::{Change, Past, Pending, Step};
use operation::Undo;
use slots::Slots;

/// How many records of a collection one transaction may write: a commit hands out so many ordinals.
pub const TXN_WRITES_MAX: usize = ORDINALS_MAX as usize;

/// A record a transaction has touched.
struct Slot {
    key: ItemKey,
    partition: PartitionKey,
    before: Option<Before>,
    after: After,
    /// Its place among the changes of this transaction.
    order: u32,
    /// What readers of events are told of the change.
    note: Vec<u8>,
    /// Changes before the last one, where each of them is told.
    past: Vec<Past>,
}

/// The record as the view has it, alive or not.
struct Before {
    header: Header,
    live: bool,
    stored: Stored<Bytes>,
}

/// What the transaction has done to it.
enum After {
    /// Nothing.
    Same,
    /// Written, as this place in the batch.
    Put {
        document: Arc<Object>,
        ttl: ItemTtl,
        body: Vec<u8>,
        shape: Shape,
        index: u16,
        fresh: bool,
        number: VersionNumber,
    },
    /// Removed.
    Gone,
}

/// A change being put together.
pub struct Txn<'a> {
    view: &'a View,
    collection: Arc<Collection>,
    lens: Lens,
    slots: Slots,
    /// Which slot takes each unique value that this transaction writes.
    taken: HashMap<Vec<u8>, usize>,
    /// Unique values that were refused because another has them.
    refused: Vec<Vec<u8>>,
    batch: Batch,
    ends: Expiry,
    writes: u16,
    changes: u32,
    /// How many versions of records were written, those that are no longer there included.
    versions: u32,
    /// Versions that a later operation of the transaction replaced or removed, with their slots.
    superseded: Vec<(usize, After)>,
    /// Whether every change of a record is told, or only what becomes of it in the end.
    stepwise: bool,
    events: Pending,
    settled: Option<Settled>,
    /// Until when it waits at its commit for those who are about to change the same.
    patience: Option<Instant>,
    /// How to take back what the operation that is being applied has done; none outside of one.
    undo: Option<Vec<Undo>>,
}

/// An item as a transaction sees it.
pub struct Found {
    /// The document without system properties.
    pub document: Object,
    /// Its header; for one written earlier in the same transaction, none yet.
    pub header: Option<Header>,
    /// The version, if it was written earlier in the same transaction.
    pub version: Option<VersionNumber>,
    /// Bytes of the record's body.
    pub bytes: usize,
}

/// What a write puts into the store.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Bytes of the record's body.
    pub bytes: usize,
    /// Entries in the index.
    pub terms: usize,
    /// Names this version of the record once the transaction is committed.
    pub version: VersionNumber,
}

/// Why a write is refused.
#[derive(Debug)]
pub enum Refused {
    /// Another living item of the partition has the same values for this unique key.
    UniqueKey,
    /// Another living document has the same values in a unique named index.
    Duplicate(Box<Duplicate>),
    /// The document cannot stand in a named index.
    Unindexable(Unindexable),
}

/// Which values are taken.
#[derive(Clone, Debug)]
pub struct Duplicate {
    /// The name of the unique index.
    pub index: Str,
    /// Its fields with their directions.
    pub pattern: Object,
    /// The values that another document has; a missing one is null. Under a collation a text is its key in hex.
    pub values: Object,
    /// The collation of the index, if it has one.
    pub collation: Option<Object>,
}

impl Refused {
    /// What is said of a document whose values under a key are taken.
    pub(crate) fn duplicate(
        collection: &Collection,
        index: &NamedIndex,
        document: &Object,
        key: &[u8],
    ) -> Refused {
        Refused::Duplicate(Box::new(Duplicate {
            index: index.name.clone(),
            pattern: index.pattern(),
            values: values_at(collection, index, document, key),
            collation: index.fold.as_ref().and_then(|_| index.collation().cloned()),
        }))
    }
}

impl<'a> Txn<'a> {
    /// Begins a change of a collection's items.
    #[must_use]
    pub fn new(view: &'a View, collection: &Arc<Collection>) -> Txn<'a> {
        let mut batch = Batch::new();
        // The settings must still be the ones this transaction judges by; one that is made with it has none yet.
        let key = keys::meta_numbered(MetaKind::Collection, collection.cid.0);
        let expect = match collection.version {
            UNMADE => Expect::Absent,
            version => Expect::StartsWith(version.to_be_bytes().to_vec()),
        };
        batch.check(Space::Meta, key, expect);
        Txn {
            view,
            lens: view.lens(collection),
            collection: Arc::clone(collection),
            slots: Slots::default(),
            taken: HashMap::new(),
            refused: Vec::new(),
            batch,
            ends: Expiry::Never,
            writes: 0,
            changes: 0,
            versions: 0,
            superseded: Vec::new(),
            stepwise: false,
            events: Pending::default(),
            settled: None,
            patience: None,
            undo: None,
        }
    }

    /// The view it reads through.
    #[must_use]
    pub const fn view(&self) -> &View {
        self.view
    }

    /// The collection it changes.
    #[must_use]
    pub const fn collection(&self) -> &Arc<Collection> {
        &self.collection
    }

    /// The item under a key, as this transaction sees it.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn get(&mut self, key: &ItemKey, partition: &PartitionKey) -> Result<Option<Found>> {
        let slot = self.slot(key, partition).await?;
        let slot = &self.slots[slot];
        match (&slot.after, &slot.before) {
            // A document that was written with a date of the past is dead already.
            (After::Put { ttl, shape, .. }, _) if !self.lives(*ttl, shape) => Ok(None),
            (
                After::Put {
                    document,
                    body,
                    number,
                    ..
                },
                _,
            ) => Ok(Some(Found {
                document: Object::clone(document),
                header: None,
                version: Some(*number),
                bytes: body.len(),
            })),
            (After::Same, Some(before)) => match before.stored.clone().reveal(&self.lens)? {
                Some(live) => Ok(Some(Found {
                    document: bson::read_document(live.body())?,
                    header: Some(before.header.clone()),
                    version: None,
                    bytes: live.body().len(),
                })),
                None => Ok(None),
            },
            (After::Same, None) | (After::Gone, _) => Ok(None),
        }
    }

    /// Whether an item lives under a key, as this transaction sees it.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn is_taken(&mut self, key: &ItemKey, partition: &PartitionKey) -> Result<bool> {
        let slot = self.slot(key, partition).await?;
        let slot = &self.slots[slot];
        Ok(match &slot.after {
            After::Put { ttl, shape, .. } => self.lives(*ttl, shape),
            After::Same => slot.before.as_ref().is_some_and(|before| before.live),
            After::Gone => false,
        })
    }

    /// Tells every change from now on as an event of its own, also where one record is changed again and again. The next
    /// change stands at this place among those of all transactions that are committed together.
    pub const fn step(&mut self, order: u32) {
        self.stepwise = true;
        self.changes = order;
    }

    /// Writes an item, new or in place of the living one.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn put(
        &mut self,
        key: &ItemKey,
        partition: &PartitionKey,
        document: Arc<Object>,
    ) -> Result<std::result::Result<Written, Refused>> {
        self.put_noted(key, partition, document, &[]).await
    }

    /// The same with a note for readers of events.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn put_noted(
        &mut self,
        key: &ItemKey,
        partition: &PartitionKey,
        document: Arc<Object>,
        note: &[u8],
    ) -> Result<std::result::Result<Written, Refused>> {
        let slot = self.slot(key, partition).await?;
        let shape = match Shape::new(&self.collection, partition, &document) {
            Ok(shape) => shape,
            Err(unindexable) => return Ok(Err(Refused::Unindexable(unindexable))),
        };
        if let Err(refused) = self.claim_unique(slot, &shape, &document).await? {
            return Ok(Err(refused));
        }
        // Written again in the same transaction, a record keeps its place: the order of creation is that of the first write.
        let index = match &self.slots[slot].after {
            After::Put { index, .. } => *index,
            After::Same | After::Gone => self.next_index()?,
        };
        let mut body = Vec::with_capacity(256);
        bson::write_document(&document, &mut body);
        let ttl = shape.ttl;
        self.show_in_time(ttl);
        let ended = match &self.slots[slot].after {
            After::Put { ttl, shape, .. } => {
                let mark = self.mark(*ttl, shape);
                (!self.lens.is_live(&mark)).then_some(mark)
            }
            After::Same | After::Gone => None,
        };
        let over = ended.is_some();
        self.leave_taken(slot);
        if self.lives(ttl, &shape) {
            for claim in &shape.unique {
                self.set_taken(&claim.key, Some(slot));
            }
        }
        let fresh = match &self.slots[slot].after {
            After::Same => !self.slots[slot]
                .before
                .as_ref()
                .is_some_and(|before| before.live),
            After::Put { fresh, .. } => *fresh || over,
            After::Gone => true,
        };
        let number = self.next_version();
        let written = Written {
            version: number,
            bytes: body.len(),
            // The entry of the item's shape is the server's own affair.
            terms: shape.stems.len().saturating_sub(1),
        };
        let after = After::Put {
            document,
            ttl,
            body,
            shape,
            index,
            fresh,
            number,
        };
        self.change(slot, ended, after, note);
        Ok(Ok(written))
    }

    /// Removes an item; whoever asks has seen it alive.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn delete(&mut self, key: &ItemKey, partition: &PartitionKey) -> Result<()> {
        self.delete_noted(key, partition, &[]).await
    }

    /// The same with a note for readers of events.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn delete_noted(
        &mut self,
        key: &ItemKey,
        partition: &PartitionKey,
        note: &[u8],
    ) -> Result<()> {
        let slot = self.slot(key, partition).await?;
        self.leave_taken(slot);
        self.change(slot, None, After::Gone, note);
        Ok(())
    }

    /// Removes what a dead record has left, if it is still there and still dead. Says how many bytes were charged for it.
    pub(crate) async fn clear_dead(
        &mut self,
        key: &ItemKey,
        partition: &PartitionKey,
    ) -> Result<Option<u32>> {
        let slot = self.slot(key, partition).await?;
        match (&self.slots[slot].before, &self.slots[slot].after) {
            (Some(before), After::Same) if !before.live => {
                let charged = before.header.charged;
                self.change(slot, None, After::Gone, &[]);
                Ok(Some(charged))
            }
            _ => Ok(None),
        }
    }

    /// Whether nothing would be written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots
            .iter()
            .all(|slot| matches!(slot.after, After::Same))
    }

    /// Commits all of it, or nothing.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when what it relied on no longer holds; otherwise when the engine fails.
    pub async fn commit(mut self, store: &Store) -> Result<Done> {
        let Some(_pass) = store.claims().pass(self.patience, || self.written()).await else {
            return Err(StoreError::Retry);
        };
        let superseded = self.superseded_records();
        let (records, told) = self.fill().await?;
        events::put(told, 0, &mut self.batch)?;
        self.batch.absent_at(self.view.snapshot.stamp());
        let then = store.announcing([self.collection.cid], false);
        let committed = store.engine().commit_then(self.batch, then).await?;
        Ok(Done::new(committed, records, superseded))
    }

    /// Puts all that was done into the batch.
    async fn fill(&mut self) -> Result<(Vec<(ItemKey, Record)>, Vec<events::Told>)> {
        if let Expiry::At(end) = self.ends {
            self.batch.not_after(end.0);
        }
        let slots = std::mem::take(&mut self.slots).into_all();
        let mut staged = Vec::with_capacity(slots.len());
        for slot in slots {
            staged.extend(self.stage(slot).await?);
        }
        // All removals come before all puts: one record may take over a unique value that another gives up.
        for change in &staged {
            if let Some(old) = &change.old {
                remove_entries(
                    &mut self.batch,
                    &self.collection,
                    old,
                    change.new.as_ref().map(|(_, new)| new),
                );
            }
        }
        let mut records = Vec::with_capacity(staged.len());
        for change in staged {
            match change.new {
                None => {
                    self.batch.delete(Space::Items, change.key.as_bytes());
                }
                Some((record, new)) => {
                    self.batch
                        .put(Space::Items, change.key.as_bytes(), record.template());
                    put_entries(&mut self.batch, &self.collection, &new);
                    records.push((change.key, record));
                }
            }
        }
        let events = std::mem::take(&mut self.events);
        Ok((records, events.into_told(self.collection.cid)))
    }

    /// Where expiries are told, a record that ends by its own ttl must be seen by whoever tells those of that second: so its
    /// commit has to come before its end, and a reader whose time has reached that end waits for it.
    fn show_in_time(&mut self, ttl: ItemTtl) {
        if self.collection.history.kept && matches!(ttl, ItemTtl::After(_)) {
            let record = Mark::undated(ttl, self.view.now().secs());
            self.ends = self.ends.earlier(self.lens.expiry(&record));
        }
    }

    /// Whether a record that this transaction writes is alive when it is written.
    fn lives(&self, ttl: ItemTtl, shape: &Shape) -> bool {
        self.lens.is_live(&self.mark(ttl, shape))
    }

    fn mark(&self, ttl: ItemTtl, shape: &Shape) -> Mark {
        Mark {
            dates: shape.dates.clone(),
            ..Mark::undated(ttl, self.lens.now.secs())
        }
    }

    /// Changes what becomes of a record. Its first change gives it its place among the changes, or each one does; what this
    /// transaction has written there before and is expired already is emitted as an event of its own.
    fn change(&mut self, at: usize, ended: Option<Mark>, after: After, note: &[u8]) {
        let slot = &mut self.slots[at];
        let (order, past) = (slot.order, slot.past.len());
        let first = matches!(slot.after, After::Same);
        if first || self.stepwise || ended.is_some() {
            if !first {
                slot.past.push(Past::of(slot, ended));
            }
            slot.order = self.changes;
            self.changes += 1;
        }
        let after = std::mem::replace(&mut slot.after, after);
        let note = std::mem::replace(&mut slot.note, note.to_vec());
        if let Some(undo) = &mut self.undo {
            undo.push(Undo::Changed {
                at,
                after,
                order,
                note,
                past,
            });
        }
    }

    /// Which record takes a unique value from now on, if any.
    fn set_taken(&mut self, key: &[u8], by: Option<usize>) {
        let was = match by {
            Some(slot) => self.taken.insert(key.to_vec(), slot),
            None => self.taken.remove(key),
        };
        if let Some(undo) = &mut self.undo {
            let key = key.to_vec();
            undo.push(Undo::Taken { key, was });
        }
    }

    fn next_index(&mut self) -> Result<u16> {
        if usize::from(self.writes) >= TXN_WRITES_MAX {
            return Err(StoreError::Engine(format!(
                "a transaction writes at most {TXN_WRITES_MAX} records"
            )));
        }
        self.writes += 1;
        Ok(self.writes - 1)
    }

    /// The slot of a key; reads the record on the first touch and makes the commit depend on what was read.
    async fn slot(&mut self, key: &ItemKey, partition: &PartitionKey) -> Result<usize> {
        if let Some(found) = self.slots.find(key) {
            return Ok(found);
        }
        let bytes = self.view.snapshot.get(Space::Items, key.as_bytes()).await?;
        let before = match bytes {
            None => {
                self.batch
                    .check(Space::Items, key.as_bytes(), Expect::Absent);
                None
            }
            Some(bytes) => {
                let bytes: Bytes = bytes.into();
                let stored = Stored::new(bytes.clone());
                let header = stored.header()?;
                let head = bytes.get(..header.length()).unwrap_or_default();
                let expect = Expect::StartsWith(head.to_vec());
                self.batch.check(Space::Items, key.as_bytes(), expect);
                let mark = header.mark();
                let live = self.lens.is_live(&mark);
                if live {
                    self.ends = self.ends.earlier(self.lens.expiry(&mark));
                }
                Some(Before {
                    header,
                    live,
                    stored,
                })
            }
        };
        Ok(self.slots.push(Slot {
            key: key.clone(),
            partition: partition.clone(),
            before,
            after: After::Same,
            order: 0,
            note: Vec::new(),
            past: Vec::new(),
        }))
    }

    /// Refuses values that another living item holds, and makes the commit depend on that.
    async fn claim_unique(
        &mut self,
        own: usize,
        shape: &Shape,
        document: &Object,
    ) -> Result<std::result::Result<(), Refused>> {
        for claim in &shape.unique {
            let refused = |txn: &mut Txn<'_>| {
                txn.refused.push(claim.key.clone());
                Ok(Err(txn.already_taken(claim, document)))
            };
            if self.taken.get(&claim.key).is_some_and(|at| *at != own) {
                return refused(self);
            }
            let key = claim.key.as_slice();
            let Some(entry) = self.view.snapshot.get(Space::Unique, key).await? else {
                self.batch.check(Space::Unique, key, Expect::Absent);
                continue;
            };
            let entry = entry.as_ref();
            let (mark, rest) = Mark::split(entry)?;
            let (_, holder) = unique_holder(self.collection.cid, rest)?;
            if mark.is_live(&self.lens) && !self.gives_up(own, &holder) {
                return refused(self);
            }
            self.batch
                .check(Space::Unique, key, Expect::StartsWith(entry.to_vec()));
        }
        Ok(Ok(()))
    }

    fn already_taken(&self, claim: &Claim, document: &Object) -> Refused {
        let indexes = &self.collection.indexes;
        match claim.index.and_then(|number| indexes.numbered(number)) {
            Some(index) => Refused::duplicate(&self.collection, index, document, &claim.key),
            None => Refused::UniqueKey,
        }
    }

    /// The record of a slot no longer takes the unique values that it was to take.
    fn leave_taken(&mut self, slot: usize) {
        let After::Put { shape, .. } = &self.slots[slot].after else {
            return;
        };
        let own = |claim: &&Claim| self.taken.get(&claim.key) == Some(&slot);
        let left = shape.unique.iter().filter(own);
        let left: Vec<_> = left.map(|claim| claim.key.clone()).collect();
        for key in left {
            self.set_taken(&key, None);
        }
    }

    /// Whether the holder of a unique value is the item being written, or one this transaction removes or rewrites.
    fn gives_up(&self, own: usize, holder: &ItemKey) -> bool {
        self.slots.find(holder).is_some_and(|at| {
            at == own || matches!(self.slots[at].after, After::Put { .. } | After::Gone)
        })
    }

    /// What one slot changes; nothing, if it was only read or never was there.
    async fn stage(&mut self, slot: Slot) -> Result<Option<Staged>> {
        let Slot {
            key,
            partition,
            before,
            after,
            order,
            note,
            past,
        } = slot;
        let old = match &before {
            Some(before) if !matches!(after, After::Same) => {
                Some(self.old_entries(&key, &partition, before).await?)
            }
            Some(_) | None => None,
        };
        let mut another = true;
        let new = match after {
            After::Same => return Ok(None),
            After::Gone if old.is_none() && past.is_empty() => return Ok(None),
            After::Gone => None,
            After::Put {
                document: _,
                ttl,
                body,
                mut shape,
                index,
                fresh,
                number,
            } => {
                if !self.lives(ttl, &shape) {
                    // The dead hold no values that others may want.
                    shape.unique.clear();
                }
                let ordinal = match &before {
                    Some(before) if !fresh => Ordinal::Known(before.header.ordinal),
                    Some(_) | None => Ordinal::New(index),
                };
                another = fresh;
                for note in &shape.notes {
                    note.put(&mut self.batch, self.collection.cid);
                }
                let record = Record::new(ttl, shape.dates.clone(), index, ordinal, &body);
                let record = record.numbered(number);
                let entries = Entries::of_new(&self.collection, &key, &record, shape);
                Some((record, entries))
            }
        };
        if self.collection.history.kept {
            let known = before.as_ref().map(|before| before.header.ordinal);
            let mut steps: Vec<Step> = past.into_iter().map(|past| past.step(known)).collect();
            steps.push(Step {
                order,
                after: new.as_ref().map(|(record, _)| record.template()),
                fresh: another,
                note,
                ended: None,
            });
            let change = Change {
                key: &key,
                before: before.as_ref(),
                steps,
            };
            self.events
                .add(self.view, &self.collection, &mut self.batch, change)
                .await?;
        }
        Ok(Some(Staged { key, old, new }))
    }

    /// The entries a record has now, of which a dead one may have lost some.
    async fn old_entries(
        &mut self,
        key: &ItemKey,
        partition: &PartitionKey,
        before: &Before,
    ) -> Result<Entries> {
        let document = bson::read_document(before.stored.remains()?)?;
        let mut old =
            Entries::of_stored(&self.collection, key, partition, &before.header, &document);
        // So may a living one, whose values a named index that is being built does not have yet.
        if !before.live || self.collection.indexes.is_unfinished() {
            // A dead record may have lost its unique values to a living one: only those it still holds are its to remove.
            old.keep_own_unique(self.view, self.collection.cid, &mut self.batch)
                .await?;
            let Header { ttl, written, .. } = before.header;
            if self.settled().await?.covers(ttl, written) {
                old.leave_calendar();
            }
        }
        Ok(old)
    }

    /// How far the dead are settled; the commit then depends on it.
    async fn settled(&mut self) -> Result<Settled> {
        if let Some(settled) = self.settled {
            return Ok(settled);
        }
        let cid = self.collection.cid;
        let ledger = Ledger::load(&self.view.snapshot, cid).await?;
        self.batch
            .check(Space::Meta, settled::key(cid), ledger.unchanged());
        self.settled = Some(ledger.settled);
        Ok(ledger.settled)
    }
}

/// One record's change, ready for the batch.
struct Staged {
    key: ItemKey,
    old: Option<Entries>,
    new: Option<(Record, Entries)>,
}
