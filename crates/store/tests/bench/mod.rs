//! A store with one collection whose documents are named by `_id`, as the Mongo door makes them.

use std::sync::Arc;

use lapsedb_record::{Policy, Secs, Setting};
use lapsedb_store::catalog::{CollectionBody, FIRST_INDEX_GENERATION, database_body};
use lapsedb_store::index::named::parts;
use lapsedb_store::index::named::{FilterCompiler, ReadFilter};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{
    Built, Collection, CollectionId, History, IndexDefinition, ItemKey, ItemRange, MetaChange,
    OpenOptions, Place, Refused, ScanLimits, Store, Txn, View,
};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value, json};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tempfile::TempDir;

pub const CID: CollectionId = CollectionId(2);

pub struct Bench {
    place: Place,
    store: Option<Store>,
}

pub fn value(text: &str) -> Value {
    let limits = json::Limits {
        depth_max: 128,
        duplicates_refused: &[],
    };
    json::parse(text.as_bytes(), &limits).unwrap()
}

pub fn object(text: &str) -> Object {
    value(text).as_object().unwrap().clone()
}

/// A document whose `date` is so many milliseconds after 1970.
pub fn dated(id: i32, at: i64) -> Object {
    let mut document = Object::new();
    document.push("_id", Value::Int32(id));
    document.push("date", Value::Date(at));
    document
}

pub fn index(name: &str, pattern: &str) -> IndexDefinition {
    IndexDefinition {
        name: name.into(),
        parts: parts(&object(pattern)),
        ..IndexDefinition::default()
    }
}

pub fn date_index(name: &str, path: &str, life: u64) -> IndexDefinition {
    IndexDefinition {
        expire_after: Some(Secs(life)),
        ..index(name, &format!("{{\"{path}\":1}}"))
    }
}

impl Bench {
    pub async fn new(place: Place) -> Bench {
        let store = open(&place).await;
        let document = object(
            r#"{"id":"c","partitionKey":{"paths":["/_id"],"kind":"Hash","version":2},
            "indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[],"excludedPaths":[{"path":"/*"}]}}"#,
        );
        let view = store.view().await.unwrap();
        let body = CollectionBody {
            cid: CID,
            database: 1,
            id: "c",
            document,
            index_generation: FIRST_INDEX_GENERATION,
            policy: Policy::new(Setting::Off),
            mongo: Some(&Object::new()),
            history: History::default(),
            indexes: None,
        };
        let mut change = MetaChange::default();
        change.put(
            keys::meta_numbered(MetaKind::Database, 1),
            database_body(1, "d"),
        );
        change.put(
            keys::meta_numbered(MetaKind::Collection, CID.0),
            body.into_object(),
        );
        change.next(3);
        store.change_catalog(&view, change).await.unwrap();
        Bench {
            place,
            store: Some(store),
        }
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    pub fn now(&self) -> i64 {
        i64::try_from(self.store().clock().now().0).unwrap()
    }

    pub fn advance(&self, ms: u64) {
        self.store().clock().advance(ms).unwrap();
    }

    pub fn is_on_disk(&self) -> bool {
        matches!(self.place, Place::Disk(_))
    }

    pub async fn restart(&mut self) {
        if self.is_on_disk() {
            self.store.take().unwrap().close().await.unwrap();
            self.store = Some(open(&self.place).await);
        }
    }

    /// Opens the store again without having closed it.
    pub async fn crash(&mut self) {
        drop(self.store.take());
        self.store = Some(open(&self.place).await);
    }

    pub async fn look(&self) -> (View, Arc<Collection>) {
        let view = self.store().view().await.unwrap();
        let collection = Arc::clone(view.catalog().collection_numbered(CID).unwrap());
        (view, collection)
    }

    pub async fn setting(&self, setting: Setting) {
        let (_, collection) = self.look().await;
        self.ttl(setting, collection.indexes.ttl_path()).await;
    }

    /// Sets the default and the path of bases, as a replacement of the collection does, and gives no document its base yet.
    pub async fn ttl(&self, setting: Setting, path: Option<&Path>) {
        let (view, collection) = self.look().await;
        let mut body = collection.body();
        body.history.shown = None;
        let mut change = MetaChange::default();
        let ttl = collection.ttl_changed(setting, path, view.now());
        ttl.put(body, &mut change);
        self.store().change_catalog(&view, change).await.unwrap();
    }

    pub async fn create(&self, definition: IndexDefinition) -> (u32, Built) {
        let number = self.begin(definition).await;
        let built = self.store().build_named_index(CID, number).await.unwrap();
        (number, built)
    }

    /// Creates an index without building it.
    pub async fn begin(&self, definition: IndexDefinition) -> u32 {
        let (view, collection) = self.look().await;
        let create = self.store();
        let create = create.create_named_index(&view, &collection, definition);
        create.await.unwrap()
    }

    pub async fn drop_index(&self, number: u32) {
        let (view, collection) = self.look().await;
        let drop = self.store().drop_named_index(&view, &collection, number);
        assert!(drop.await.unwrap());
    }

    pub async fn expire_after(&self, number: u32, life: u64) {
        let (view, collection) = self.look().await;
        let change = self.store();
        let change = change.set_expire_after(&view, &collection, number, Secs(life));
        change.await.unwrap();
    }

    pub fn key(collection: &Collection, id: i32) -> (ItemKey, PartitionKey) {
        let partition = PartitionKey::parse(&format!("[{id}]")).unwrap();
        let key = ItemKey::new(collection, &partition, &id.to_string());
        (key, partition)
    }

    pub async fn put(&self, document: Object) -> Result<(), Refused> {
        let (view, collection) = self.look().await;
        let id = document.get("_id").and_then(Value::as_i64).unwrap();
        let (key, partition) = Self::key(&collection, i32::try_from(id).unwrap());
        let mut txn = Txn::new(&view, &collection);
        txn.put(&key, &partition, Arc::new(document))
            .await
            .unwrap()?;
        txn.commit(self.store()).await.unwrap();
        Ok(())
    }

    /// Writes documents one after the other in one transaction.
    pub async fn put_all(&self, documents: Vec<Object>) {
        let (view, collection) = self.look().await;
        let mut txn = Txn::new(&view, &collection);
        for document in documents {
            let id = document.get("_id").and_then(Value::as_i64).unwrap();
            let (key, partition) = Self::key(&collection, i32::try_from(id).unwrap());
            let written = txn.put(&key, &partition, Arc::new(document)).await;
            written.unwrap().unwrap();
        }
        txn.commit(self.store()).await.unwrap();
    }

    pub async fn delete(&self, id: i32) {
        let (view, collection) = self.look().await;
        let (key, partition) = Self::key(&collection, id);
        let mut txn = Txn::new(&view, &collection);
        txn.delete(&key, &partition).await.unwrap();
        txn.commit(self.store()).await.unwrap();
    }

    /// The ids of all that can be seen. Every figure must agree with them.
    pub async fn ids(&self) -> Vec<i64> {
        let (view, collection) = self.look().await;
        let limits = ScanLimits {
            items_max: 10_000,
            bytes_max: 1 << 24,
        };
        let page = view
            .scan(&collection, &ItemRange::Everything, None, limits)
            .await
            .unwrap();
        let ids: Vec<_> = page
            .items
            .iter()
            .map(|(_, item)| {
                let document = lapsedb_value::bson::read_document(item.body()).unwrap();
                document.get("_id").and_then(Value::as_i64).unwrap()
            })
            .collect();
        for id in 0..20_i32 {
            let (key, _) = Self::key(&collection, id);
            let found = view.get(&collection, &key).await.unwrap().is_some();
            assert_eq!(found, ids.contains(&i64::from(id)), "document {id}");
        }
        let usage = view.usage(&collection).await.unwrap();
        let recount = view.recount(&collection).await.unwrap();
        assert_eq!(usage.live.items, ids.len() as u64);
        assert_eq!((usage.live, usage.expired), (recount.live, recount.expired));
        assert_eq!(recount.buckets_wrong, 0);
        ids
    }

    pub async fn purge(&self) -> u64 {
        let (_, collection) = self.look().await;
        let purge = self.store();
        let purge = purge.purge(&collection, lapsedb_record::Millis(0), u64::MAX);
        purge.await.unwrap().items
    }
}

async fn open(place: &Place) -> Store {
    let store = Store::open(OpenOptions {
        place: place.clone(),
        relaxed: true,
        virtual_clock: true,
        accept_clock: false,
    })
    .await
    .unwrap();
    // A filter of these tests asks for one member to have one value.
    let filters: ReadFilter = Arc::new(|expression: &Object, _| {
        let expression = expression.clone();
        Ok(Arc::new(move |document: &Object| {
            expression.iter().all(|(name, value)| {
                let found = document.get(name).unwrap_or(Value::undefined());
                lapsedb_value::order::equal_bson(found, value)
            })
        }))
    });
    store.set_filters(FilterCompiler {
        filters,
        key_makers: Arc::new(|_, _| None),
        // Every collation of these tests ignores the case.
        folds: Arc::new(|_| {
            Ok(Some(Arc::new(|value: &Value| match value {
                Value::String(text) => Value::from(text.to_lowercase()),
                other => other.clone(),
            })))
        }),
    });
    store
}

/// Runs random stories, each in a store of its own: as many as `PROPTEST_CASES` says, or else `cases`.
pub fn run_stories<S: std::fmt::Debug>(
    cases: u32,
    on_disk: bool,
    stories: impl Strategy<Value = Vec<S>>,
    compare: impl AsyncFn(Place, &[S]) -> Result<(), TestCaseError>,
) {
    let _limit = lapsedb_testkit::TimeLimit::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let wanted = std::env::var("PROPTEST_CASES").ok();
    let mut runner = TestRunner::new(Config {
        cases: wanted.and_then(|text| text.parse().ok()).unwrap_or(cases),
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&stories, |steps| {
        let folder = TempDir::new().unwrap();
        let place = match on_disk {
            true => Place::Disk(folder.path().to_path_buf()),
            false => Place::Memory,
        };
        runtime.block_on(compare(place, &steps))
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
