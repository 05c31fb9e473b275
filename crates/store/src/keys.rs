//! Every key layout, in one table. `docs/record-format.md` shows the same for readers of a store.
//!
//! | space | key | value |
//! |---|---|---|
//! | Items | cid 4, epk, partition key, id | header, BSON body |
//! | Log | cid 4, class 1, lsn 8, index in batch 2 | mark, charged 4, item tail |
//! | Versions | cid 4, lsn 8, index in batch 2 | see `versions/event.rs` |
//! | Versions | `00000000`, lsn 8, index in batch 2 | as Meta, see `versions/catalog_log.rs` |
//! | Due | cid 4, expiry second 8, ordinal 8 | mark, item tail |
//! | Due | cid 4, `80`, number 4, date 8, ordinal 8 | mark, charged 4, item tail |
//! | Order | cid 4, ordinal 8 | mark, item tail |
//! | Index | cid 4, generation 4, path 8, value, ordinal 8 | mark, item tail |
//! | Index | cid 4, `FFFFFFFF`, number of a named index 8, parts, ordinal 8 | mark, item tail |
//! | Unique | cid 4, `FF`, number of a named index 4, values | mark, ordinal 8, item tail |
//! | Unique | cid 4, constraint 1, partition key, values | mark, ordinal 8, item tail |
//! | Tally | cid 4, kind 1, unit 1, bucket 8 | items 8, bytes 8 |
//! | Meta | a letter and the address of a catalog record | lsn 8, second 8, BSON |
//! | Meta | `E`, place 2 | see `catalog/changes.rs` |
//!
//! "Item tail" is the item key after its cid. All integers are big-endian, so that bytes sort as numbers do.

use lapsedb_kv::{Fill, Stamp, Template, ordinal, prefix_end};
use lapsedb_record::{Dated, Header, ItemTtl, Secs};

use crate::catalog::Collection;
use crate::index::bson_key::sortable;
use crate::partition_key::{
    EPK_V2_BYTES, EpkRange, Kind, PartitionKey, PartitionKeyDef, Version, epk_bytes, epk_len,
};

/// A collection's number: never used twice in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionId(pub u32);

/// The engine's clock, so that its floor survives.
pub const CLOCK: &[u8] = b"clock";
/// Grows with every change of the catalog: what is cached in memory is checked against it.
pub const EPOCH: &[u8] = b"epoch";
/// What kind of store this is: format and clock.
pub const IDENTITY: &[u8] = b"identity";
/// The commit of the last change of a login or a role.
pub const LOGINS: &[u8] = b"logins";
/// The next free number for databases, collections and offers.
pub const NEXT: &[u8] = b"next";

/// An address of an item in its collection: the key in the engine.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ItemKey(Vec<u8>);

impl ItemKey {
    /// The key of an id under a partition key.
    #[must_use]
    pub fn new(collection: &Collection, partition: &PartitionKey, id: &str) -> ItemKey {
        let mut bytes = partition_prefix(collection, partition);
        bytes.extend_from_slice(id.as_bytes());
        ItemKey(bytes)
    }

    /// The id that it is the key of, if it lies under that partition key.
    #[must_use]
    pub fn id_under(&self, collection: &Collection, partition: &PartitionKey) -> Option<&str> {
        let prefix = partition_prefix(collection, partition);
        let id = self.0.strip_prefix(prefix.as_slice())?;
        std::str::from_utf8(id).ok()
    }

    /// The key whose tail an entry holds.
    #[must_use]
    pub fn from_tail(cid: CollectionId, tail: &[u8]) -> ItemKey {
        let mut bytes = Vec::with_capacity(4 + tail.len());
        bytes.extend_from_slice(&cid.0.to_be_bytes());
        bytes.extend_from_slice(tail);
        ItemKey(bytes)
    }

    /// A key as the engine returned it.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> ItemKey {
        ItemKey(bytes.to_vec())
    }

    /// The bytes in the engine.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its collection.
    #[must_use]
    pub fn collection(&self) -> CollectionId {
        let number = self.0.first_chunk::<4>().copied().unwrap_or_default();
        CollectionId(u32::from_be_bytes(number))
    }

    /// The key without its collection.
    #[must_use]
    pub fn tail(&self) -> &[u8] {
        self.0.get(4..).unwrap_or_default()
    }
}

/// The prefix shared by all items of a collection.
#[must_use]
pub fn collection_prefix(cid: CollectionId) -> Vec<u8> {
    cid.0.to_be_bytes().to_vec()
}

/// The prefix shared by the items of one logical partition.
#[must_use]
pub fn partition_prefix(collection: &Collection, partition: &PartitionKey) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(&collection.cid.0.to_be_bytes());
    bytes.extend_from_slice(&epk_bytes(&collection.partition_key, partition));
    match collection.mongo {
        Some(_) => partition.rounded().encode_key(&mut bytes),
        None => partition.encode_key(&mut bytes),
    }
    bytes
}

/// Whether an item lies under a prefix of a hierarchical key, given by [`PartitionKey::encode_levels`]. Its effective partition key
/// does not tell: integers that no double is share that of the nearest one.
#[must_use]
pub fn is_under(collection: &Collection, key: &ItemKey, levels: &[u8]) -> bool {
    let behind = |epk: &[u8]| key.tail().get(epk.len()..).unwrap_or_default();
    epk_of(collection, key).is_some_and(|epk| behind(epk).starts_with(levels))
}

/// Bounds of item keys that cover a range of effective partition keys, and perhaps a little more: who scans between them
/// still asks [`epk_of`] of each key.
#[must_use]
pub fn epk_bounds(collection: &Collection, range: &EpkRange) -> (Vec<u8>, Vec<u8>) {
    let prefix = collection_prefix(collection.cid);
    let bound = |epk: &[u8], len: usize| [&prefix, epk.get(..len).unwrap_or(epk)].concat();
    match fixed_epk_len(&collection.partition_key) {
        Some(len) => (bound(&range.min, len), prefix_end(&bound(&range.max, len))),
        None => (bound(&range.min, usize::MAX), prefix_end(&prefix)),
    }
}

/// Version 2 hashes have one length per collection; version 1 ones vary with the key.
fn fixed_epk_len(def: &PartitionKeyDef) -> Option<usize> {
    match (def.kind, def.version) {
        (Kind::MultiHash, _) => Some(EPK_V2_BYTES * def.paths.len()),
        (Kind::Hash, Version::V2) => Some(EPK_V2_BYTES),
        (Kind::Hash, Version::V1) => None,
    }
}

/// The effective partition key in an item's key.
#[must_use]
pub fn epk_of<'k>(collection: &Collection, key: &'k ItemKey) -> Option<&'k [u8]> {
    let tail = key.tail();
    tail.get(..epk_len(&collection.partition_key, tail)?)
}

/// The partition key and the id in an item's key.
#[must_use]
pub fn address_of(collection: &Collection, key: &ItemKey) -> Option<(PartitionKey, String)> {
    let rest = key.tail().get(epk_of(collection, key)?.len()..)?;
    let (partition, len) = PartitionKey::decode_key(rest)?;
    let id = std::str::from_utf8(rest.get(len..)?).ok()?;
    Some((partition, id.to_owned()))
}

/// The two classes of the log: what inherits the default is its own expiry queue.
#[must_use]
pub const fn log_class(ttl: ItemTtl) -> u8 {
    match ttl {
        ItemTtl::Inherit => 0,
        ItemTtl::Never | ItemTtl::After(_) => 1,
    }
}

/// Key of the log entry a record has now.
#[must_use]
pub fn log(cid: CollectionId, header: &Header) -> Vec<u8> {
    let mut key = log_prefix(cid, log_class(header.ttl));
    key.extend_from_slice(&header.lsn.to_be_bytes());
    key.extend_from_slice(&header.index.to_be_bytes());
    key
}

/// Where the commit's lsn begins in the key of a log entry: behind the collection and the class.
pub const LOG_PLACE_AT: usize = 5;

/// The item's tail in a log entry, of which the mark is already read: the charged size stands before it.
#[must_use]
pub fn log_tail(rest: &[u8]) -> &[u8] {
    rest.get(4..).unwrap_or_default()
}

/// The commit and the place in it that the key of a log entry names.
#[must_use]
pub fn log_place(key: &[u8]) -> Option<(u64, u16)> {
    let (lsn, index) = key.get(LOG_PLACE_AT..)?.split_first_chunk::<8>()?;
    let index = index.first_chunk::<2>()?;
    Some((u64::from_be_bytes(*lsn), u16::from_be_bytes(*index)))
}

/// Prefix of one class of a collection's log.
#[must_use]
pub fn log_prefix(cid: CollectionId, class: u8) -> Vec<u8> {
    let mut key = collection_prefix(cid);
    key.push(class);
    key
}

/// Key of the log entry a record will have once committed.
#[must_use]
pub fn log_next(cid: CollectionId, ttl: ItemTtl, index: u16) -> Template {
    let mut key = Template::from(log_prefix(cid, log_class(ttl)));
    key.fill(Fill::Stamp).push(&index.to_be_bytes());
    key
}

/// Key of an entry of the due index.
#[must_use]
pub fn due(cid: CollectionId, expiry: Secs, ordinal: u64) -> Vec<u8> {
    let mut key = collection_prefix(cid);
    key.extend_from_slice(&expiry.0.to_be_bytes());
    key.extend_from_slice(&ordinal.to_be_bytes());
    key
}

/// Key of the due entry a record will have once committed.
#[must_use]
pub fn due_next(cid: CollectionId, life: Secs, ordinal: Ordinal) -> Template {
    let mut key = Template::from(collection_prefix(cid));
    key.fill(Fill::Seconds {
        plus: life.0,
        unit: 1,
    });
    ordinal.append(key)
}

/// What date entries of the due index begin with behind the collection: no second of an expiry does.
const DATED: u8 = 0x80;

/// Key of a document's date in the due index.
#[must_use]
pub fn due_date(cid: CollectionId, number: u32, at: i64, ordinal: u64) -> Vec<u8> {
    let mut key = due_dates(cid, number);
    key.extend_from_slice(&sortable(at).to_be_bytes());
    key.extend_from_slice(&ordinal.to_be_bytes());
    key
}

/// Key of the date entry a document will have once committed.
#[must_use]
pub fn due_date_next(cid: CollectionId, date: Dated, ordinal: Ordinal) -> Template {
    let mut key = Template::from(due_dates(cid, date.number));
    key.push(&sortable(date.at).to_be_bytes());
    ordinal.append(key)
}

/// Prefix of the date entries of one number.
#[must_use]
pub fn due_dates(cid: CollectionId, number: u32) -> Vec<u8> {
    let mut key = collection_prefix(cid);
    key.push(DATED);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Key of an entry of the order of creation.
#[must_use]
pub fn order(cid: CollectionId, ordinal: u64) -> Vec<u8> {
    let mut key = collection_prefix(cid);
    key.extend_from_slice(&ordinal.to_be_bytes());
    key
}

/// Where the order entries of items end that commits up to this one have created.
#[must_use]
pub fn order_after(cid: CollectionId, lsn: u64) -> Vec<u8> {
    order(cid, ordinal(Stamp(lsn.saturating_add(1)), 0))
}

/// Key of the order entry a record will have once committed.
#[must_use]
pub fn order_next(cid: CollectionId, ordinal: Ordinal) -> Template {
    ordinal.append(Template::from(collection_prefix(cid)))
}

/// Prefix of one generation of a collection's index: a change of the policy begins a new one.
#[must_use]
pub fn index_prefix(cid: CollectionId, generation: u32) -> Vec<u8> {
    let mut key = collection_prefix(cid);
    key.extend_from_slice(&generation.to_be_bytes());
    key
}

/// Key of an index entry without its ordinal.
#[must_use]
pub fn index_stem(collection: &Collection, path: u64, value: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(4 + 4 + 8 + value.len() + 8);
    key.extend_from_slice(&collection.cid.0.to_be_bytes());
    key.extend_from_slice(&collection.index_generation.to_be_bytes());
    key.extend_from_slice(&path.to_be_bytes());
    key.extend_from_slice(value);
    key
}

/// The generation under which named indexes lie: no policy ever reaches it.
const NAMED_GENERATION: u32 = u32::MAX;
/// The constraint under which the unique values of named indexes lie: a collection has far fewer unique keys.
const NAMED_CONSTRAINT: u8 = u8::MAX;

/// Prefix of the entries of a named index. The number takes the place of a path.
#[must_use]
pub fn named_stem(cid: CollectionId, number: u32) -> Vec<u8> {
    let mut key = index_prefix(cid, NAMED_GENERATION);
    key.extend_from_slice(&u64::from(number).to_be_bytes());
    key
}

/// Prefix of the unique values of a named index.
#[must_use]
pub fn named_unique_prefix(cid: CollectionId, number: u32) -> Vec<u8> {
    let mut key = collection_prefix(cid);
    key.push(NAMED_CONSTRAINT);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Key of the values of a document in a unique named index: they are unique in the whole collection.
#[must_use]
pub fn named_unique(cid: CollectionId, number: u32, values: &[u8]) -> Vec<u8> {
    let mut key = named_unique_prefix(cid, number);
    push_unique_values(values, &mut key);
    key
}

/// The longest values of a unique key that are kept as they are; longer ones are hashed.
pub const UNIQUE_VALUES_BYTES_MAX: usize = 1024;

/// Key of a unique constraint's values within a logical partition.
#[must_use]
pub fn unique(
    cid: CollectionId,
    constraint: u8,
    partition: &PartitionKey,
    values: &[u8],
) -> Vec<u8> {
    let mut key = collection_prefix(cid);
    key.push(constraint);
    partition.encode_key(&mut key);
    push_unique_values(values, &mut key);
    key
}

fn push_unique_values(values: &[u8], key: &mut Vec<u8>) {
    if values.len() <= UNIQUE_VALUES_BYTES_MAX {
        key.push(0);
        key.extend_from_slice(values);
    } else {
        // Two independent 128-bit hashes: values that long are compared by 256 bits.
        key.push(1);
        for seed in [0, 0x5bd1_e995] {
            let hash = murmur3::murmur3_x64_128(&mut &values[..], seed).unwrap_or_default();
            key.extend_from_slice(&hash.to_be_bytes());
        }
    }
}

/// What a bucket of the calendar holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TallyKind {
    /// Items that inherit, by the second of their write.
    Written = 0,
    /// Items with a ttl of their own, by the second of their expiry.
    Due = 1,
    /// Items that never expire: one bucket.
    Never = 2,
}

/// The widths of the calendar's buckets: second, hour, day.
pub const TALLY_UNITS: [u64; 3] = [1, 3600, 86_400];

/// Key of a bucket.
#[must_use]
pub fn tally(cid: CollectionId, kind: TallyKind, unit: u8, bucket: u64) -> Vec<u8> {
    let mut key = collection_prefix(cid);
    key.push(kind as u8);
    key.push(unit);
    key.extend_from_slice(&bucket.to_be_bytes());
    key
}

/// Key of the bucket that the commit's second, plus a life, falls into.
#[must_use]
pub fn tally_next(cid: CollectionId, kind: TallyKind, unit: u8, plus: u64) -> Template {
    let width = TALLY_UNITS.get(usize::from(unit)).copied().unwrap_or(1);
    let mut key = Template::from(collection_prefix(cid));
    key.push(&[kind as u8, unit])
        .fill(Fill::Seconds { plus, unit: width });
    key
}

/// A record's creation ordinal: known, or given by the commit.
#[derive(Clone, Copy, Debug)]
pub enum Ordinal {
    /// The record continues one that is alive.
    Known(u64),
    /// A new record, at this place in its batch.
    New(u16),
}

impl Ordinal {
    /// Appends the ordinal's eight bytes to a template.
    #[must_use]
    pub fn append(self, mut template: Template) -> Template {
        match self {
            Ordinal::Known(ordinal) => template.push(&ordinal.to_be_bytes()),
            Ordinal::New(index) => template.fill(Fill::Ordinal(index)),
        };
        template
    }
}

/// The kinds of catalog records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetaKind {
    /// A database.
    Database,
    /// A collection.
    Collection,
    /// Provisioned throughput.
    Offer,
    /// A user of a database.
    User,
    /// A permission of a user.
    Permission,
    /// A client encryption key of a database.
    ClientEncryptionKey,
    /// A stored procedure.
    StoredProcedure,
    /// A trigger.
    Trigger,
    /// A user-defined function.
    UserDefinedFunction,
    /// How far a collection's index has been built.
    IndexBuild,
    /// That an array stands in a named index.
    Multikey,
    /// A collection whose data is being dropped.
    Dropping,
    /// How far a collection's kept versions reach.
    Versions,
    /// Up to where a collection's dead are settled.
    Settled,
    /// What a client's session has done.
    Session,
    /// Somebody who may log in at the Mongo door.
    Login,
    /// A role that a client of the MongoDB API has defined.
    Role,
    /// A view of the Mongo door.
    View,
    /// Up to where a capped collection has let go of its items.
    Capped,
    /// That somebody follows collections by name.
    Watch,
    /// A collection that is gone, but whose versions are kept.
    Grave,
    /// Which records a change of the catalog has written or removed.
    Change,
}

impl MetaKind {
    const fn letter(self) -> u8 {
        match self {
            MetaKind::Database => b'D',
            MetaKind::Collection => b'C',
            MetaKind::Offer => b'O',
            MetaKind::User => b'U',
            MetaKind::Permission => b'P',
            MetaKind::ClientEncryptionKey => b'K',
            MetaKind::StoredProcedure => b'S',
            MetaKind::Trigger => b'T',
            MetaKind::UserDefinedFunction => b'F',
            MetaKind::IndexBuild => b'I',
            MetaKind::Multikey => b'M',
            MetaKind::Dropping => b'X',
            MetaKind::Session => b'R',
            MetaKind::Login => b'L',
            MetaKind::Role => b'A',
            MetaKind::Watch => b'Y',
            MetaKind::Grave => b'G',
            MetaKind::Versions => b'V',
            MetaKind::Settled => b'Z',
            MetaKind::View => b'W',
            MetaKind::Capped => b'H',
            MetaKind::Change => b'E',
        }
    }
}

/// Key of a catalog record that is addressed by number.
#[must_use]
pub fn meta_numbered(kind: MetaKind, number: u32) -> Vec<u8> {
    let mut key = vec![kind.letter()];
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Key of what a change of the catalog has touched. It takes the place of an older change whose number has the same rest.
#[must_use]
pub fn catalog_change(change: u64, kept: u16) -> Vec<u8> {
    let place = u16::try_from(change % u64::from(kept.max(1))).unwrap_or_default();
    let mut key = meta_all(MetaKind::Change);
    key.extend_from_slice(&place.to_be_bytes());
    key
}

/// Prefix of what is noted of the entries of a named index: older ones have it alone as a note that an array stands in it.
#[must_use]
pub fn index_notes(cid: CollectionId, number: u32) -> Vec<u8> {
    let mut key = meta_numbered(MetaKind::Multikey, cid.0);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Key of a catalog record that is addressed by its owner and its name.
#[must_use]
pub fn meta_named(kind: MetaKind, owner: u64, id: &str) -> Vec<u8> {
    let mut key = meta_owned(kind, owner);
    key.extend_from_slice(id.as_bytes());
    key
}

/// Prefix of all records of a kind that an owner has.
#[must_use]
pub fn meta_owned(kind: MetaKind, owner: u64) -> Vec<u8> {
    let mut key = vec![kind.letter()];
    key.extend_from_slice(&owner.to_be_bytes());
    key
}

/// Prefix of all records of a kind.
#[must_use]
pub fn meta_all(kind: MetaKind) -> Vec<u8> {
    vec![kind.letter()]
}

/// Key of what a client's session has done.
#[must_use]
pub fn session_note(session: &[u8]) -> Vec<u8> {
    let mut key = meta_all(MetaKind::Session);
    key.extend_from_slice(session);
    key
}
