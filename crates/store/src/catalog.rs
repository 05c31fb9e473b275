//! Databases, collections and offers, as an image in memory of what the engine holds.
//!
//! The image is only a cache: every view compares its epoch with the engine's and reads it anew when it has moved,
//! so another process's change is seen as one's own.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::{Millis, Policy, Secs};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Str, Value, bson};

use crate::error::{Result, StoreError};
use crate::index::build::Build;
use crate::index::named::{FilterCompiler, NamedIndexes};
use crate::index::policy::IndexPolicy;
use crate::keys::{self, CollectionId, MetaKind};
use crate::partition_key::PartitionKeyDef;
use crate::versions::grave::Grave;
use crate::versions::history::{History, number, setting_of, setting_value};
use crate::versions::watch::Watches;

/// How many catalog records one scan step brings.
const CATALOG_SCAN_ROWS: usize = 1000;
/// How many bytes one scan step brings.
const CATALOG_SCAN_BYTES: usize = 8 << 20;

/// The index generation a collection is made with: whole from its first item on. The upper half grows when this program
/// changes what it writes into an index, so that what older versions have made is built anew; the lower half when a
/// collection's policy changes.
pub const FIRST_INDEX_GENERATION: u32 = 1 << 16;

/// The [`Collection::version`] of a collection that is not made yet.
pub const UNMADE: u64 = 0;

/// The first number that is given to a database, collection or offer.
const FIRST_NUMBER: u32 = 1;

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

/// The image.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The epoch this image was read at.
    pub epoch: u64,
    /// The next free number.
    pub next: u32,
    databases: HashMap<Str, Arc<Database>>,
    databases_by_number: HashMap<u32, Arc<Database>>,
    collections: HashMap<u32, HashMap<Str, Arc<Collection>>>,
    collections_by_number: HashMap<CollectionId, Arc<Collection>>,
    offers: HashMap<u32, Arc<Offer>>,
    offers_by_resource: HashMap<(u32, Option<CollectionId>), Arc<Offer>>,
    views: HashMap<u32, HashMap<Str, Arc<NamedView>>>,
    pub(crate) watches: Watches,
    graves: Vec<Grave>,
}

impl Catalog {
    /// The catalog of a store that has none yet. Numbers begin at 1: a `_rid` of zeros means nothing to clients.
    #[must_use]
    pub fn empty() -> Catalog {
        Catalog {
            next: FIRST_NUMBER,
            ..Catalog::default()
        }
    }

    /// A database by name.
    #[must_use]
    pub fn database(&self, id: &str) -> Option<&Arc<Database>> {
        self.databases.get(id)
    }

    /// A database by number.
    #[must_use]
    pub fn database_numbered(&self, number: u32) -> Option<&Arc<Database>> {
        self.databases_by_number.get(&number)
    }

    /// All databases, in the order they were made.
    #[must_use]
    pub fn databases(&self) -> Vec<Arc<Database>> {
        let mut all: Vec<_> = self.databases.values().cloned().collect();
        all.sort_by_key(|database| database.number);
        all
    }

    /// A collection by name.
    #[must_use]
    pub fn collection(&self, database: u32, id: &str) -> Option<&Arc<Collection>> {
        self.collections.get(&database)?.get(id)
    }

    /// A collection by number.
    #[must_use]
    pub fn collection_numbered(&self, cid: CollectionId) -> Option<&Arc<Collection>> {
        self.collections_by_number.get(&cid)
    }

    /// A database's collections, in the order they were made.
    #[must_use]
    pub fn collections(&self, database: u32) -> Vec<Arc<Collection>> {
        let mut all: Vec<_> = self
            .collections
            .get(&database)
            .map(|by_name| by_name.values().cloned().collect())
            .unwrap_or_default();
        all.sort_by_key(|collection: &Arc<Collection>| collection.cid);
        all
    }

    /// A view by name.
    #[must_use]
    pub fn view(&self, database: u32, id: &str) -> Option<&Arc<NamedView>> {
        self.views.get(&database)?.get(id)
    }

    /// A database's views, in the order they were made.
    #[must_use]
    pub fn views(&self, database: u32) -> Vec<Arc<NamedView>> {
        let own = self.views.get(&database);
        let mut all: Vec<_> = own.into_iter().flat_map(HashMap::values).cloned().collect();
        all.sort_by(|a, b| (a.made, &a.id).cmp(&(b.made, &b.id)));
        all
    }

    /// Every collection there is, in the order they were made.
    #[must_use]
    pub fn all_collections(&self) -> Vec<Arc<Collection>> {
        let mut all: Vec<_> = self.collections_by_number.values().cloned().collect();
        all.sort_by_key(|collection| collection.cid);
        all
    }

    /// An offer by number.
    #[must_use]
    pub fn offer(&self, number: u32) -> Option<&Arc<Offer>> {
        self.offers.get(&number)
    }

    /// The offer of a collection, or of a database.
    #[must_use]
    pub fn offer_of(&self, database: u32, collection: Option<CollectionId>) -> Option<&Arc<Offer>> {
        self.offers_by_resource.get(&(database, collection))
    }

    /// All offers, in the order they were made.
    #[must_use]
    pub fn offers(&self) -> Vec<Arc<Offer>> {
        let mut all: Vec<_> = self.offers.values().cloned().collect();
        all.sort_by_key(|offer| offer.number);
        all
    }

    /// Collections that are gone, but whose versions are kept.
    #[must_use]
    pub fn graves(&self) -> &[Grave] {
        &self.graves
    }

    /// Reads the whole catalog from a snapshot.
    pub(crate) async fn load(
        snapshot: &impl Snapshot,
        epoch: u64,
        language: Option<&FilterCompiler>,
    ) -> Result<Catalog> {
        let mut catalog = Catalog {
            epoch,
            next: next_number(snapshot).await?,
            ..Catalog::default()
        };
        for record in scan_all(snapshot, keys::meta_all(MetaKind::Database)).await? {
            let database = Arc::new(database_of(&record)?);
            catalog
                .databases_by_number
                .insert(database.number, Arc::clone(&database));
            catalog.databases.insert(database.id.clone(), database);
        }
        let builds = index_builds(snapshot).await?;
        for record in scan_all(snapshot, keys::meta_all(MetaKind::Collection)).await? {
            let mut collection = collection_of(&record, language)?;
            if let Some(generation) = builds.get(&collection.cid) {
                collection.index_ready_generation = *generation;
            }
            let collection = Arc::new(collection);
            catalog
                .collections_by_number
                .insert(collection.cid, Arc::clone(&collection));
            let siblings = catalog.collections.entry(collection.database).or_default();
            siblings.insert(collection.id.clone(), collection);
        }
        for record in scan_all(snapshot, keys::meta_all(MetaKind::Offer)).await? {
            let offer = Arc::new(offer_of(&record)?);
            catalog
                .offers_by_resource
                .insert((offer.database, offer.collection), Arc::clone(&offer));
            catalog.offers.insert(offer.number, offer);
        }
        for record in scan_all(snapshot, keys::meta_all(MetaKind::View)).await? {
            let view = Arc::new(view_of(&record)?);
            let siblings = catalog.views.entry(view.database).or_default();
            siblings.insert(view.id.clone(), view);
        }
        let watches = scan_all(snapshot, keys::meta_all(MetaKind::Watch)).await?;
        catalog.watches = Watches::of_records(&watches)?;
        for record in scan_all(snapshot, keys::meta_all(MetaKind::Grave)).await? {
            catalog.graves.push(Grave::of_record(&record)?);
        }
        Ok(catalog)
    }
}

/// The generation of each collection whose index has been built, but for those that were whole from the beginning.
async fn index_builds(snapshot: &impl Snapshot) -> Result<HashMap<CollectionId, u32>> {
    let mut builds = HashMap::new();
    let prefix = keys::meta_all(MetaKind::IndexBuild);
    for (key, record) in scan_keyed(snapshot, prefix).await? {
        let build = Build::read(&record)?;
        if let Some(number) = key.last_chunk::<4>().filter(|_| build.whole) {
            builds.insert(CollectionId(u32::from_be_bytes(*number)), build.generation);
        }
    }
    Ok(builds)
}

/// The epoch a snapshot stands at; a store without a catalog yet is at 0.
pub(crate) async fn epoch(snapshot: &impl Snapshot) -> Result<u64> {
    let bytes = snapshot.get(Space::Meta, keys::EPOCH).await?;
    Ok(bytes
        .as_ref()
        .and_then(|bytes| bytes.as_ref().first_chunk::<8>())
        .map_or(0, |bytes| u64::from_be_bytes(*bytes)))
}

async fn next_number(snapshot: &impl Snapshot) -> Result<u32> {
    let bytes = snapshot.get(Space::Meta, keys::NEXT).await?;
    Ok(bytes
        .as_ref()
        .and_then(|bytes| bytes.as_ref().first_chunk::<4>())
        .map_or(FIRST_NUMBER, |bytes| u32::from_be_bytes(*bytes)))
}

/// All records under a prefix.
pub(crate) async fn scan_all(snapshot: &impl Snapshot, prefix: Vec<u8>) -> Result<Vec<MetaRecord>> {
    let keyed = scan_keyed(snapshot, prefix).await?;
    Ok(keyed.into_iter().map(|(_, record)| record).collect())
}

/// All records under a prefix, with their keys.
pub(crate) async fn scan_keyed(
    snapshot: &impl Snapshot,
    prefix: Vec<u8>,
) -> Result<Vec<(Bytes, MetaRecord)>> {
    let to = lapsedb_kv::prefix_end(&prefix);
    let mut from = prefix;
    let mut records = Vec::new();
    loop {
        let page = snapshot
            .scan(Scan {
                space: Space::Meta,
                from,
                to: to.clone(),
                reverse: false,
                rows_max: CATALOG_SCAN_ROWS,
                bytes_max: CATALOG_SCAN_BYTES,
            })
            .await?;
        for (key, value) in &page.rows {
            records.push((key.clone(), MetaRecord::read(value)?));
        }
        match page.rows.last() {
            Some((key, _)) if page.more => {
                from = key.to_vec();
                from.push(0);
            }
            _ => return Ok(records),
        }
    }
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
    let history = History::of_value(history).ok_or_else(|| bad("history"))?;
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
        index_generation: record.number("indexGeneration")?,
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
