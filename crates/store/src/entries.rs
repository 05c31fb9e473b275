//! The entries beside a record: what a record has in the log, the due index, the order, the index, the unique keys
//! and the calendar. Computed the same way when they are written and when they are removed.

use lapsedb_kv::{Batch, Expect, Fill, Snapshot, Space, Template};
use lapsedb_record::mark::MARK_WRITTEN_AT;
use lapsedb_record::{Dates, Header, ItemTtl, MARK_BYTES, Mark, Secs};
use lapsedb_value::{Object, Value};

use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::index::composite::{self, value_at};
use crate::index::encode;
use crate::index::named;
use crate::index::named::keys::{NamedTerms, Unindexable};
use crate::index::named::notes::Note;
use crate::index::shape::shape_term;
use crate::keys::{self, CollectionId, ItemKey, Ordinal, TALLY_UNITS, TallyKind};
use crate::partition_key::PartitionKey;
use crate::txn::Record;
use crate::view::View;

/// What a document makes its record have, wherever that lies.
pub(crate) struct Shape {
    /// Index keys without their ordinal, sorted.
    pub(crate) stems: Vec<Vec<u8>>,
    /// The unique values it claims.
    pub(crate) unique: Vec<Claim>,
    /// What it says of its write time.
    pub(crate) ttl: ItemTtl,
    /// Its dates under the indexes that end documents, and the base of its time to live.
    pub(crate) dates: Dates,
    /// What is to be noted of named indexes.
    pub(crate) notes: Vec<Note>,
}

/// A key in the space of unique values, and the named index it belongs to; none for a unique key of the collection.
pub(crate) struct Claim {
    pub(crate) key: Vec<u8>,
    pub(crate) index: Option<u32>,
}

impl Shape {
    /// What a document about to be written has.
    ///
    /// # Errors
    /// When it cannot stand in one of the named indexes.
    pub(crate) fn new(
        collection: &Collection,
        partition: &PartitionKey,
        document: &Object,
    ) -> std::result::Result<Shape, Unindexable> {
        let named = named::keys::terms(collection, document)?;
        Ok(Shape::with(collection, partition, document, named))
    }

    fn of_stored(collection: &Collection, partition: &PartitionKey, document: &Object) -> Shape {
        let named = named::keys::stored_terms(collection, document);
        Shape::with(collection, partition, document, named)
    }

    fn with(
        collection: &Collection,
        partition: &PartitionKey,
        document: &Object,
        mut named: NamedTerms,
    ) -> Shape {
        let mut stems = index_stems(collection, document);
        if !named.stems.is_empty() {
            stems.append(&mut named.stems);
            stems.sort_unstable();
            stems.dedup();
        }
        let own = unique_keys(collection, partition, document).into_iter();
        let own = own.map(|key| Claim { key, index: None });
        let named_unique = named.unique.into_iter().map(|(key, number)| Claim {
            key,
            index: Some(number),
        });
        let (ttl, base) = collection.indexes.life_of(document);
        named.dates.extend(base);
        Shape {
            stems,
            unique: own.chain(named_unique).collect(),
            ttl,
            dates: named.dates,
            notes: named.notes,
        }
    }
}

/// All entries of one record.
pub(crate) struct Entries {
    tail: Vec<u8>,
    mark: Mark,
    /// Whether the mark's write time is known, or filled by the commit.
    written: bool,
    charged: u32,
    ordinal: Ordinal,
    log: Template,
    due: Option<Template>,
    dates: Vec<Template>,
    tally: Vec<Template>,
    unique: Vec<Vec<u8>>,
    index: Vec<Vec<u8>>,
}

impl Entries {
    /// What a stored record has.
    pub(crate) fn of_stored(
        collection: &Collection,
        key: &ItemKey,
        partition: &PartitionKey,
        header: &Header,
        document: &Object,
    ) -> Entries {
        let cid = collection.cid;
        let (kind, second) = bucket(header.ttl, header.written);
        let due = match header.ttl {
            ItemTtl::After(life) => Some(Template::from(keys::due(
                cid,
                header.written.plus(life),
                header.ordinal,
            ))),
            ItemTtl::Inherit | ItemTtl::Never => None,
        };
        let tally = |unit: u8| Template::from(keys::tally(cid, kind, unit, second / width(unit)));
        let shape = Shape::of_stored(collection, partition, document);
        let dates = header
            .dates
            .iter()
            .map(|date| Template::from(keys::due_date(cid, date.number, date.at, header.ordinal)));
        Entries {
            tail: key.tail().to_vec(),
            mark: header.mark(),
            written: true,
            charged: header.charged,
            ordinal: Ordinal::Known(header.ordinal),
            log: Template::from(keys::log(cid, header)),
            due,
            dates: dates.collect(),
            tally: vec![tally(0), tally(1), tally(2)],
            unique: shape.unique.into_iter().map(|claim| claim.key).collect(),
            index: shape.stems,
        }
    }

    /// What a record about to be committed will have.
    pub(crate) fn of_new(
        collection: &Collection,
        key: &ItemKey,
        record: &Record,
        shape: Shape,
    ) -> Entries {
        let cid = collection.cid;
        let due = match record.ttl {
            ItemTtl::After(life) => Some(keys::due_next(cid, life, record.ordinal)),
            ItemTtl::Inherit | ItemTtl::Never => None,
        };
        let tally = |unit: u8| match record.ttl {
            ItemTtl::Inherit => keys::tally_next(cid, TallyKind::Written, unit, 0),
            ItemTtl::After(life) => keys::tally_next(cid, TallyKind::Due, unit, life.0),
            ItemTtl::Never => Template::from(keys::tally(cid, TallyKind::Never, unit, 0)),
        };
        let dates = shape.dates.iter();
        let dates = dates.map(|date| keys::due_date_next(cid, *date, record.ordinal));
        Entries {
            tail: key.tail().to_vec(),
            mark: record.mark(),
            written: false,
            charged: record.charged,
            ordinal: record.ordinal,
            log: keys::log_next(cid, record.ttl, record.index),
            due,
            dates: dates.collect(),
            tally: vec![tally(0), tally(1), tally(2)],
            unique: shape.unique.into_iter().map(|claim| claim.key).collect(),
            index: shape.stems,
        }
    }

    /// A value that begins with the mark, whose write time the commit fills unless it is known.
    fn marked(&self) -> Template {
        let mut bytes = Vec::with_capacity(MARK_BYTES + 12 + self.tail.len());
        self.mark.write(&mut bytes);
        let fills = match self.written {
            true => Vec::new(),
            false => vec![(MARK_WRITTEN_AT as u32, Fill::Seconds { plus: 0, unit: 1 })],
        };
        Template { bytes, fills }
    }

    fn marked_tail(&self) -> Template {
        let mut value = self.marked();
        value.push(&self.tail);
        value
    }

    /// The unique keys, to be narrowed down to those still held.
    pub(crate) fn take_unique(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.unique)
    }

    /// Narrows the unique keys down to those that the record holds, and makes the commit depend on that. Says which they are.
    pub(crate) async fn keep_own_unique(
        &mut self,
        view: &View,
        cid: CollectionId,
        batch: &mut Batch,
    ) -> Result<Vec<Vec<u8>>> {
        let Ordinal::Known(ordinal) = self.ordinal else {
            return Ok(Vec::new());
        };
        let mut own = Vec::new();
        for key in self.take_unique() {
            let Some(entry) = view.snapshot.get(Space::Unique, &key).await? else {
                continue;
            };
            let (_, rest) = Mark::split(entry.as_ref())?;
            if unique_holder(cid, rest)?.0 == ordinal {
                let expect = Expect::StartsWith(entry.as_ref().to_vec());
                batch.check(Space::Unique, key.as_slice(), expect);
                own.push(key);
            }
        }
        self.set_unique(own.clone());
        Ok(own)
    }

    /// Sets the unique keys this record holds.
    pub(crate) fn set_unique(&mut self, unique: Vec<Vec<u8>>) {
        self.unique = unique;
    }

    /// The calendar has forgotten this record already.
    pub(crate) fn leave_calendar(&mut self) {
        self.tally.clear();
    }

    fn index_key(&self, stem: &[u8]) -> Template {
        self.ordinal.append(Template::from(stem))
    }
}

/// Writes what a record has now: every entry, changed or not, because a stale write time in one would hide a living item.
pub(crate) fn put_entries(batch: &mut Batch, collection: &Collection, new: &Entries) {
    put_marked(batch, collection, new);
    for key in &new.tally {
        batch.add(key.clone(), 1, i64::from(new.charged));
    }
}

/// Writes all entries that carry a mark: for a record of which only the mark has changed, that is all.
pub(crate) fn put_marked(batch: &mut Batch, collection: &Collection, new: &Entries) {
    let mut log = new.marked();
    log.push(&new.charged.to_be_bytes()).push(&new.tail);
    batch.put(Space::Log, new.log.clone(), log);
    if let Some(due) = &new.due {
        batch.put(Space::Due, due.clone(), new.marked_tail());
    }
    for date in &new.dates {
        let mut value = new.marked();
        value.push(&new.charged.to_be_bytes()).push(&new.tail);
        batch.put(Space::Due, date.clone(), value);
    }
    batch.put(
        Space::Order,
        keys::order_next(collection.cid, new.ordinal),
        new.marked_tail(),
    );
    for key in &new.index {
        batch.put(Space::Index, new.index_key(key), new.marked_tail());
    }
    for key in &new.unique {
        let mut value = new.ordinal.append(new.marked());
        value.push(&new.tail);
        batch.put(Space::Unique, Template::from(key.as_slice()), value);
    }
}

/// Writes the index entries of a stored record.
pub(crate) fn put_index_entries(
    batch: &mut Batch,
    collection: &Collection,
    key: &ItemKey,
    header: &Header,
    document: &Object,
) {
    let mut value = Vec::with_capacity(MARK_BYTES + key.tail().len());
    header.mark().write(&mut value);
    value.extend_from_slice(key.tail());
    for stem in index_stems(collection, document) {
        let key = Ordinal::Known(header.ordinal).append(Template::from(stem));
        batch.put(Space::Index, key, Template::from(value.as_slice()));
    }
}

/// Removes the entries of a record that the new one will not overwrite.
pub(crate) fn remove_entries(
    batch: &mut Batch,
    collection: &Collection,
    old: &Entries,
    new: Option<&Entries>,
) {
    let Ordinal::Known(ordinal) = old.ordinal else {
        return;
    };
    let continues =
        new.is_some_and(|new| matches!(new.ordinal, Ordinal::Known(same) if same == ordinal));
    batch.delete(Space::Log, old.log.bytes.clone());
    if let Some(due) = &old.due {
        batch.delete(Space::Due, due.bytes.clone());
    }
    for date in &old.dates {
        batch.delete(Space::Due, date.bytes.clone());
    }
    if !continues {
        batch.delete(Space::Order, keys::order(collection.cid, ordinal));
    }
    for key in &old.index {
        if !(continues && new.is_some_and(|new| new.index.binary_search(key).is_ok())) {
            batch.delete(Space::Index, old.index_key(key).bytes);
        }
    }
    for key in &old.unique {
        if !new.is_some_and(|new| new.unique.contains(key)) {
            batch.delete(Space::Unique, key.as_slice());
        }
    }
    for key in &old.tally {
        batch.add(key.clone(), -1, -i64::from(old.charged));
    }
}

fn width(unit: u8) -> u64 {
    TALLY_UNITS.get(usize::from(unit)).copied().unwrap_or(1)
}

/// The bucket a record stands in.
pub(crate) fn bucket(ttl: ItemTtl, written: Secs) -> (TallyKind, u64) {
    match ttl {
        ItemTtl::Inherit => (TallyKind::Written, written.0),
        ItemTtl::After(life) => (TallyKind::Due, written.plus(life).0),
        ItemTtl::Never => (TallyKind::Never, 0),
    }
}

fn unique_keys(
    collection: &Collection,
    partition: &PartitionKey,
    document: &Object,
) -> Vec<Vec<u8>> {
    (0..collection.unique_keys.len())
        .map(|at| unique_key(collection, at, partition, document))
        .collect()
}

/// The key a document's values have under a unique constraint. A missing path counts as null.
pub(crate) fn unique_key(
    collection: &Collection,
    constraint: usize,
    partition: &PartitionKey,
    document: &Object,
) -> Vec<u8> {
    let mut values = Vec::new();
    for path in collection.unique_keys.get(constraint).into_iter().flatten() {
        let value = match value_at(document, path) {
            Value::Undefined => &Value::Null,
            value => value,
        };
        // Lengths before values keep two lists of values apart.
        let mut one = Vec::new();
        encode::whole(value, &mut one);
        values.extend_from_slice(&u32::try_from(one.len()).unwrap_or(u32::MAX).to_be_bytes());
        values.extend_from_slice(&one);
    }
    let constraint = u8::try_from(constraint).unwrap_or(u8::MAX);
    keys::unique(collection.cid, constraint, partition, &values)
}

/// The creation ordinal and the key of the item that a unique entry names; they stand behind its mark.
pub(crate) fn unique_holder(cid: CollectionId, rest: &[u8]) -> Result<(u64, ItemKey)> {
    let (ordinal, tail) = rest
        .split_first_chunk::<8>()
        .ok_or_else(|| StoreError::Corrupt("a unique entry is too short".into()))?;
    Ok((u64::from_be_bytes(*ordinal), ItemKey::from_tail(cid, tail)))
}

/// The index keys of a document without their ordinal, sorted.
pub(crate) fn index_stems(collection: &Collection, document: &Object) -> Vec<Vec<u8>> {
    let terms = encode::terms(&collection.index, document);
    let shape = shape_term(&collection.index, document);
    let composites = composite::terms(&collection.index, document);
    let mut stems: Vec<_> = terms
        .iter()
        .chain(&shape)
        .chain(&composites)
        .map(|term| keys::index_stem(collection, term.path, &term.bytes))
        .collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}
