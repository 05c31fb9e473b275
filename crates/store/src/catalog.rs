//! Databases, collections and offers: what their records say, and an image of all of them in memory.
//!
//! The image ([`Catalog`]) is only a cache: every view compares its epoch with the engine's (`cache.rs`). When it has moved,
//! the records that have changed since are read, and no others: each change names them (`changes.rs`). So another process's
//! change is seen as one's own, and costs the same with ten collections as with ten thousand.

pub(crate) mod cache;
pub(crate) mod changes;
mod image;
pub(crate) mod load;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use lapsedb_record::{Millis, Policy, Secs, Setting};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Str, Value, bson};

use crate::error::{Result, StoreError};
use crate::index::named::{FilterCompiler, NamedIndexes};
use crate::index::policy::IndexPolicy;
use crate::keys::CollectionId;
use crate::partition_key::PartitionKeyDef;
use crate::versions::history::{History, number, setting_of, setting_value};

pub(crate) use image::Ordered;
#[cfg(test)]
pub(crate) use image::in_order;
pub use image::{Catalog, Upkeep};

/// The index generation a collection is made with: whole from its first item on. The upper half grows when this program
/// changes what it writes into an index, so that what older versions have made is built anew; the lower half when a
/// collection's policy changes.
pub const FIRST_INDEX_GENERATION: u32 = 2 << 16;

/// The generation in which a collection's index is kept, by what its record says. What an older version of this program has
/// made gets a generation of its own, which is not [`FIRST_INDEX_GENERATION`] and so is not taken for whole before it is built.
const fn index_generation_of(stored: u32) -> u32 {
    match stored < FIRST_INDEX_GENERATION {
        true => FIRST_INDEX_GENERATION | ((stored & 0xFFFF) + 1),
        false => stored,
    }
}

/// The [`Collection::version`] of a collection that is not made yet.
pub const UNMADE: u64 = 0;

/// A catalog record as stored: who wrote it when, and what it says.
#[derive(Clone, Debug)]
pub struct MetaRecord {
    /// The commit that wrote it: its etag.
    pub lsn: u64,
    /// The second it was written.
    pub written: Secs,
    /// The same to the millisecond; of records of older versions, the beginning of that second.
    pub at: Millis,
    /// Its content.
    pub body: Object,
}

impl MetaRecord {
    /// The commit that wrote a stored record, and its second.
    pub(crate) fn stamp(bytes: &[u8]) -> Result<(u64, Secs)> {
        let short = || StoreError::Corrupt("a catalog record is too short".into());
        let (lsn, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        let written = rest.first_chunk::<8>().ok_or_else(short)?;
        Ok((u64::from_be_bytes(*lsn), Secs(u64::from_be_bytes(*written))))
    }

    /// Reads a stored record.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub fn read(bytes: &[u8]) -> Result<MetaRecord> {
        let short = || StoreError::Corrupt("a catalog record is too short".into());
        let (lsn, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        let (written, rest) = rest.split_first_chunk::<8>().ok_or_else(short)?;
        let written = Secs(u64::from_be_bytes(*written));
        let length = rest.first_chunk::<4>().ok_or_else(short)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (body, rest) = rest.split_at_checked(length).ok_or_else(short)?;
        let at = rest.first_chunk::<8>().map(|at| u64::from_be_bytes(*at));
        Ok(MetaRecord {
            lsn: u64::from_be_bytes(*lsn),
            written,
            at: at.map_or(written.millis(), Millis),
            body: bson::read_document(body)?,
        })
    }

    fn number(&self, name: &str) -> Result<u32> {
        self.body
            .get(name)
            .and_then(Value::as_i64)
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| StoreError::Corrupt(format!("a catalog record lacks `{name}`")))
    }

    fn text(&self, name: &str) -> Result<Str> {
        match self.body.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(StoreError::Corrupt(format!(
                "a catalog record lacks `{name}`"
            ))),
        }
    }
}

/// A database.
#[derive(Clone, Debug)]
pub struct Database {
    /// Its number: its `_rid`.
    pub number: u32,
    /// Its name.
    pub id: Str,
    /// The commit that last wrote it.
    pub lsn: u64,
    /// The second of that commit.
    pub written: Secs,
}

/// A collection (container) and all that a request needs to know of it.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Its number.
    pub cid: CollectionId,
    /// Its database's number.
    pub database: u32,
    /// Its name.
    pub id: Str,
    /// The commit that last changed its definition: its etag.
    pub lsn: u64,
    /// The second of that commit.
    pub written: Secs,
    /// The commit that last wrote its record: writers check it at their own commit.
    pub version: u64,
    /// The definition as clients see it, without system properties.
    pub document: Object,
    /// How items are partitioned.
    pub partition_key: PartitionKeyDef,
    /// What is indexed.
    pub index: IndexPolicy,
    /// Grows when the index policy changes: entries of older generations are not read.
    pub index_generation: u32,
    /// The newest generation in which every item has its entries.
    pub index_ready_generation: u32,
    /// Paths of each unique key.
    pub unique_keys: Vec<Vec<Path>>,
    /// The TTL setting with its burials.
    pub policy: Policy,
    /// What the Mongo door keeps of a collection that was made through it; none for all others.
    pub mongo: Option<Arc<Object>>,
    /// Whether versions are kept, and the settings it has had.
    pub history: History,
    /// The indexes that were made one by one.
    pub indexes: Arc<NamedIndexes>,
}

impl Collection {
    /// What its record says. Written as it is, clients take it for unchanged.
    #[must_use]
    pub fn body(&self) -> CollectionBody<'_> {
        CollectionBody {
            cid: self.cid,
            database: self.database,
            id: &self.id,
            document: self.document.clone(),
            index_generation: self.index_generation,
            policy: self.policy,
            mongo: self.mongo.as_deref(),
            history: History {
                shown: Some((self.lsn, self.written)),
                ..self.history.clone()
            },
            indexes: Some(&self.indexes),
        }
    }

    /// Whether an item of it can be expired: by its settings, by what earlier ones have left, or by a date.
    #[must_use]
    pub fn can_expire(&self) -> bool {
        self.policy.setting != Setting::Off
            || self.policy.buried_written.is_some()
            || self.policy.buried_due.is_some()
            || !self.indexes.date_rules().all().is_empty()
    }

    /// Whether every item has its entries in the index, so that a query may rely on it. False from a change of the
    /// index policy on until the index has been built for the items that were there.
    #[must_use]
    pub const fn index_is_whole(&self) -> bool {
        self.index_ready_generation == self.index_generation
    }
}

/// Provisioned throughput of a collection or a database.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Its number.
    pub number: u32,
    /// The database it is for, or whose collection it is for.
    pub database: u32,
    /// The collection it is for; none for a database's shared throughput.
    pub collection: Option<CollectionId>,
    /// The commit that last wrote it.
    pub lsn: u64,
    /// The second of that commit.
    pub written: Secs,
    /// `content` as clients see it.
    pub content: Object,
}

/// A view of the Mongo door: a pipeline over a collection or over another view.
#[derive(Clone, Debug)]
pub struct NamedView {
    /// Its database's number.
    pub database: u32,
    /// Its name.
    pub id: Str,
    /// The commit that made it.
    pub made: u64,
    /// What it shows, as it was defined.
    pub definition: Object,
}

fn database_of(record: &MetaRecord) -> Result<Database> {
    Ok(Database {
        number: record.number("number")?,
        id: record.text("id")?,
        lsn: record.lsn,
        written: record.written,
    })
}

/// The body of a database's record.
#[must_use]
pub fn database_body(number: u32, id: &str) -> Object {
    let mut body = Object::new();
    body.push("number", Value::Int64(i64::from(number)));
    body.push("id", Value::from(id));
    body
}

fn view_of(record: &MetaRecord) -> Result<NamedView> {
    let definition = record.body.get("definition").and_then(Value::as_object);
    let made = record.body.get("made").and_then(Value::as_i64);
    Ok(NamedView {
        database: record.number("database")?,
        id: record.text("id")?,
        made: made
            .and_then(|made| u64::try_from(made).ok())
            .unwrap_or(record.lsn),
        definition: definition.cloned().unwrap_or_default(),
    })
}

/// The body of a view's record. One that is changed keeps the commit that made it.
#[must_use]
pub fn view_body(database: u32, id: &str, made: Option<u64>, definition: Object) -> Object {
    let mut body = Object::new();
    body.push("database", Value::Int64(i64::from(database)));
    body.push("id", Value::from(id));
    if let Some(made) = made.and_then(|made| i64::try_from(made).ok()) {
        body.push("made", Value::Int64(made));
    }
    body.push("definition", Value::Object(definition));
    body
}

fn offer_of(record: &MetaRecord) -> Result<Offer> {
    let collection = match record.number("collection")? {
        0 => None,
        number => Some(CollectionId(number)),
    };
    let content = record
        .body
        .get("content")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    Ok(Offer {
        number: record.number("number")?,
        database: record.number("database")?,
        collection,
        lsn: record.lsn,
        written: record.written,
        content,
    })
}

/// The body of an offer's record.
#[must_use]
pub fn offer_body(
    number: u32,
    database: u32,
    collection: Option<CollectionId>,
    content: Object,
) -> Object {
    let mut body = Object::new();
    body.push("number", Value::Int64(i64::from(number)));
    body.push("database", Value::Int64(i64::from(database)));
    body.push(
        "collection",
        Value::Int64(collection.map_or(0, |cid| i64::from(cid.0))),
    );
    body.push("content", Value::Object(content));
    body
}

impl crate::Store {
    /// A collection that is not made yet, from what its record would say.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn unmade(&self, body: Object) -> Result<Collection> {
        let record = MetaRecord {
            lsn: UNMADE,
            written: Secs(0),
            at: Millis(0),
            body,
        };
        collection_of(&record, self.filters())
    }
}

pub(crate) fn collection_of(
    record: &MetaRecord,
    language: Option<&FilterCompiler>,
) -> Result<Collection> {
    let bad = |what: &str| StoreError::Corrupt(format!("a collection's {what} cannot be read"));
    let document = record
        .body
        .get("document")
        .and_then(Value::as_object)
        .cloned()
        .ok_or_else(|| bad("definition"))?;
    let partition_key =
        PartitionKeyDef::from_document(document.get("partitionKey").unwrap_or(&Value::Undefined))
            .map_err(|_| bad("partition key"))?;
    let index = IndexPolicy::parse(document.get("indexingPolicy").unwrap_or(&Value::Undefined))
        .map_err(|_| bad("index policy"))?;
    let history = record.body.get("history").unwrap_or(Value::undefined());
    let mut history = History::of_value(history).ok_or_else(|| bad("history"))?;
    history.eras = history.eras.committed(record.at);
    let (lsn, written) = history.shown.unwrap_or((record.lsn, record.written));
    let indexes = match record.body.get("indexes").and_then(Value::as_object) {
        Some(indexes) => NamedIndexes::from_object(indexes, record.at, language)?,
        None => NamedIndexes::default(),
    };
    Ok(Collection {
        cid: CollectionId(record.number("number")?),
        database: record.number("database")?,
        id: record.text("id")?,
        lsn,
        written,
        version: record.lsn,
        unique_keys: unique_keys(&document).ok_or_else(|| bad("unique keys"))?,
        document,
        partition_key,
        index,
        index_generation: index_generation_of(record.number("indexGeneration")?),
        index_ready_generation: FIRST_INDEX_GENERATION,
        policy: policy_of(&record.body).ok_or_else(|| bad("TTL policy"))?,
        mongo: record
            .body
            .get("mongo")
            .and_then(Value::as_object)
            .map(|mongo| Arc::new(mongo.clone())),
        history,
        indexes: Arc::new(indexes),
    })
}

/// What a collection's record says.
pub struct CollectionBody<'a> {
    /// Its number.
    pub cid: CollectionId,
    /// Its database.
    pub database: u32,
    /// Its name.
    pub id: &'a str,
    /// Its definition, normalised, without system properties.
    pub document: Object,
    /// See [`Collection::index_generation`].
    pub index_generation: u32,
    /// Its TTL policy.
    pub policy: Policy,
    /// See [`Collection::mongo`].
    pub mongo: Option<&'a Object>,
    /// See [`Collection::history`].
    pub history: History,
    /// See [`Collection::indexes`]; none for a collection that is made.
    pub indexes: Option<&'a NamedIndexes>,
}

impl CollectionBody<'_> {
    /// The body of the record.
    #[must_use]
    pub fn into_object(self) -> Object {
        let secs = |secs: Option<Secs>| secs.map_or(Value::Null, |secs| number(secs.0));
        let mut body = Object::new();
        body.push("number", Value::Int64(i64::from(self.cid.0)));
        body.push("database", Value::Int64(i64::from(self.database)));
        body.push("id", Value::from(self.id));
        body.push(
            "indexGeneration",
            Value::Int64(i64::from(self.index_generation)),
        );
        body.push("ttl", setting_value(self.policy.setting));
        body.push("buriedWritten", secs(self.policy.buried_written));
        body.push("buriedDue", secs(self.policy.buried_due));
        body.push("history", self.history.into_value());
        body.push("document", Value::Object(self.document));
        if let Some(mongo) = self.mongo {
            body.push("mongo", Value::Object(mongo.clone()));
        }
        if let Some(indexes) = self.indexes.filter(|indexes| !indexes.is_empty()) {
            body.push("indexes", Value::Object(indexes.to_object()));
        }
        body
    }
}

fn policy_of(body: &Object) -> Option<Policy> {
    let secs = |name: &str| match body.get(name)? {
        Value::Null => Some(None),
        value => Some(Some(Secs(u64::try_from(value.as_i64()?).ok()?))),
    };
    Some(Policy {
        setting: setting_of(body.get("ttl")?)?,
        buried_written: secs("buriedWritten")?,
        buried_due: secs("buriedDue")?,
    })
}

fn unique_keys(document: &Object) -> Option<Vec<Vec<Path>>> {
    let Some(policy) = document.get("uniqueKeyPolicy") else {
        return Some(Vec::new());
    };
    let Some(keys) = policy.get("uniqueKeys").as_array() else {
        return Some(Vec::new());
    };
    keys.iter()
        .map(|key| {
            key.get("paths")
                .as_array()?
                .iter()
                .map(|path| Path::parse_pointer(path.as_str()?).ok())
                .collect()
        })
        .collect()
}
