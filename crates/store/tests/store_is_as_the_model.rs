//! Random writes, deletes, changes of the setting, moves of the clock and purges, on both engines, against the model.
//! In the end everything is deleted, and not a byte of it may be left.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod model;

use std::sync::Arc;

use lapsedb_kv::{EngineKind, Scan, Snapshot, Space};
use lapsedb_record::{Millis, Secs, Setting};
use lapsedb_store::catalog::{CollectionBody, database_body};
use lapsedb_store::index::encode::PathId;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{
    Collection, CollectionId, ItemKey, ItemRange, MetaChange, OpenOptions, Place, Purged,
    ScanLimits, Span, Store, Txn,
};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value, json};
use model::{Item, Model};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tempfile::TempDir;

const PARTITIONS: u8 = 3;
const IDS: u8 = 4;
const EMAILS: u8 = 5;

#[derive(Clone, Debug)]
struct Write {
    id: u8,
    ttl: Option<i64>,
    email: Option<u8>,
    note: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, Write),
    Delete(u8, u8),
    /// Several writes of one partition at once; none is a delete of the id.
    Batch(u8, Vec<(u8, Option<Write>)>),
    Change(Setting),
    Advance(u64),
    Purge {
        grace_ms: u64,
    },
}

fn any_write() -> impl Strategy<Value = Write> {
    let ttl = prop_oneof![
        4 => Just(None),
        1 => Just(Some(-1)),
        1 => Just(Some(0)),
        1 => Just(Some(1)),
        2 => Just(Some(5)),
        1 => Just(Some(4000)),
        1 => Just(Some(100_000)),
        1 => Just(Some(2_147_483_647)),
    ];
    (0..IDS, ttl, proptest::option::of(0..EMAILS), 0..40_usize).prop_map(
        |(id, ttl, email, note)| Write {
            id,
            ttl,
            email,
            note,
        },
    )
}

fn any_setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        Just(Setting::Off),
        Just(Setting::On),
        prop_oneof![
            Just(1),
            Just(3),
            Just(5),
            Just(10),
            Just(5000),
            Just(90_000)
        ]
        .prop_map(|life| Setting::OnWithDefault(Secs(life))),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let advance = prop_oneof![
        Just(1),
        Just(500),
        Just(999),
        Just(1000),
        Just(3000),
        Just(7001),
        Just(3_600_000),
        Just(86_400_000),
    ];
    let batch = proptest::collection::vec(
        any_write().prop_flat_map(|write| {
            let id = write.id;
            prop_oneof![3 => Just((id, Some(write))), 1 => Just((id, None))]
        }),
        1..6,
    );
    prop_oneof![
        6 => (0..PARTITIONS, any_write()).prop_map(|(partition, write)| Step::Put(partition, write)),
        2 => (0..PARTITIONS, 0..IDS).prop_map(|(partition, id)| Step::Delete(partition, id)),
        2 => (0..PARTITIONS, batch).prop_map(|(partition, writes)| Step::Batch(partition, writes)),
        2 => any_setting().prop_map(Step::Change),
        4 => advance.prop_map(Step::Advance),
        1 => prop_oneof![Just(0), Just(2000), Just(10_000)].prop_map(|grace_ms| Step::Purge { grace_ms }),
    ]
}

fn object(text: &str) -> Object {
    let limits = json::Limits {
        depth_max: 128,
        duplicates_refused: &[],
    };
    let value = json::parse(text.as_bytes(), &limits).unwrap();
    value.as_object().unwrap().clone()
}

fn document(partition: u8, write: &Write) -> Object {
    let mut document = Object::new();
    document.push("id", Value::from(format!("i{}", write.id)));
    document.push("pk", Value::from(i32::from(partition)));
    if let Some(ttl) = write.ttl {
        document.push("ttl", Value::number(ttl as f64));
    }
    if let Some(email) = write.email {
        document.push("email", Value::from(i32::from(email)));
    }
    document.push("note", Value::from("n".repeat(write.note)));
    document
}

/// A store and a container of it, next to the model of that container.
struct Bench<'a> {
    store: &'a Store,
    cid: CollectionId,
    definition: Object,
    model: Model,
}

impl<'a> Bench<'a> {
    async fn new(store: &'a Store) -> Bench<'a> {
        let definition = object(
            r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
                "indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],
                "excludedPaths":[{"path":"/\"_etag\"/?"}]},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/email"]}]}}"#,
        );
        let view = store.view().await.unwrap();
        let number = view.catalog().next;
        let mut change = MetaChange::default();
        if view.catalog().databases().is_empty() {
            change.put(
                keys::meta_numbered(MetaKind::Database, 1),
                database_body(1, "d"),
            );
        }
        let cid = CollectionId(number + 1);
        let bench = Bench {
            store,
            cid,
            definition,
            model: Model::new(Setting::OnWithDefault(Secs(5)), view.now().secs().0),
        };
        change.put(
            keys::meta_numbered(MetaKind::Collection, cid.0),
            bench.body(lapsedb_record::Policy::new(bench.model.setting)),
        );
        change.next(number + 1);
        store.change_catalog(&view, change).await.unwrap();
        bench
    }

    fn body(&self, policy: lapsedb_record::Policy) -> Object {
        CollectionBody {
            cid: self.cid,
            database: 1,
            id: &format!("c{}", self.cid.0),
            document: self.definition.clone(),
            index_generation: 1,
            policy,
        }
        .into_object()
    }

    async fn collection(&self) -> Arc<Collection> {
        let view = self.store.view().await.unwrap();
        Arc::clone(view.catalog().collection_numbered(self.cid).unwrap())
    }

    fn now(&self) -> u64 {
        self.store.clock().now().secs().0
    }

    fn key(collection: &Collection, partition: u8, id: u8) -> (ItemKey, PartitionKey) {
        let partition = PartitionKey::parse(&format!("[{partition}]")).unwrap();
        let key = ItemKey::new(collection, &partition, &format!("i{id}"));
        (key, partition)
    }

    async fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        self.model.settle(self.now());
        match step {
            Step::Put(partition, write) => {
                self.write(*partition, &[(write.id, Some(write.clone()))])
                    .await?;
            }
            Step::Delete(partition, id) => self.write(*partition, &[(*id, None)]).await?,
            Step::Batch(partition, writes) => self.write(*partition, writes).await?,
            Step::Change(setting) => self.change(*setting).await,
            Step::Advance(ms) => {
                self.store.clock().advance(*ms).unwrap();
                self.model.settle(self.now());
            }
            Step::Purge { grace_ms } => self.purge(*grace_ms).await?,
        }
        self.compare().await
    }

    async fn change(&mut self, setting: Setting) {
        let view = self.store.view().await.unwrap();
        let collection = view.catalog().collection_numbered(self.cid).unwrap();
        let policy = collection.policy.changed(setting, view.now());
        let mut change = MetaChange::default();
        change.put(
            keys::meta_numbered(MetaKind::Collection, self.cid.0),
            self.body(policy),
        );
        self.store.change_catalog(&view, change).await.unwrap();
        self.model.change(setting, self.now());
    }

    async fn purge(&mut self, grace_ms: u64) -> Result<(), TestCaseError> {
        let collection = self.collection().await;
        let horizon = Millis(self.store.clock().now().0.saturating_sub(grace_ms));
        let (items, bytes) = self.model.purge(horizon.secs().0);
        let purged = self
            .store
            .purge(&collection, Millis(grace_ms), u64::MAX)
            .await
            .unwrap();
        prop_assert_eq!(purged, Purged { items, bytes });
        Ok(())
    }

    /// One transaction: all of the writes, or none if one is refused.
    async fn write(
        &mut self,
        partition: u8,
        writes: &[(u8, Option<Write>)],
    ) -> Result<(), TestCaseError> {
        let now = self.now();
        let view = self.store.view().await.unwrap();
        let collection = Arc::clone(view.catalog().collection_numbered(self.cid).unwrap());
        let mut txn = Txn::new(&view, &collection);
        let mut staged = self.model.clone();
        for (id, write) in writes {
            let (key, pk) = Self::key(&collection, partition, *id);
            let found = txn.get(&key, &pk).await.unwrap();
            prop_assert_eq!(found.is_some(), staged.live(partition, *id).is_some());
            let Some(write) = write else {
                if found.is_some() {
                    txn.delete(&key, &pk).await.unwrap();
                    staged.delete(partition, *id);
                }
                continue;
            };
            let held = staged
                .holder(partition, write.email)
                .is_some_and(|holder| holder.id != *id);
            let document = document(partition, write);
            let put = txn.put(&key, &pk, Arc::new(document)).await.unwrap();
            prop_assert_eq!(put.is_err(), held, "unique key of {:?}", write);
            if held {
                return Ok(());
            }
            staged.put(Item {
                partition,
                id: *id,
                ttl: write.ttl,
                email: write.email,
                note: "n".repeat(write.note),
                written: now,
                born: 0,
                charged: 0,
                died: None,
            });
        }
        let done = txn.commit(self.store).await.unwrap();
        for item in &mut staged.items {
            let (key, _) = Self::key(&collection, item.partition, item.id);
            if let Some(written) = done.item(&key).unwrap() {
                item.charged = u64::from(written.header().charged);
            }
        }
        self.model = staged;
        Ok(())
    }

    /// Everything that can be read, compared with the model.
    async fn compare(&self) -> Result<(), TestCaseError> {
        let view = self.store.view().await.unwrap();
        let collection = view.catalog().collection_numbered(self.cid).unwrap();
        for partition in 0..PARTITIONS {
            for id in 0..IDS {
                let (key, _) = Self::key(collection, partition, id);
                let read = view.get(collection, &key).await.unwrap();
                let expected = self.model.live(partition, id);
                prop_assert_eq!(read.is_some(), expected.is_some(), "{}/{}", partition, id);
                if let (Some(read), Some(expected)) = (read, expected) {
                    prop_assert_eq!(read.header().written.0, expected.written);
                    let body = lapsedb_value::bson::read_document(read.body()).unwrap();
                    let note = body.get("note").and_then(Value::as_str);
                    prop_assert_eq!(note, Some(expected.note.as_str()));
                    let ordinal = read.header().ordinal;
                    let found = view.key_of(collection, ordinal).await.unwrap();
                    prop_assert_eq!(found, Some(key));
                }
            }
        }
        self.compare_scans().await?;
        self.compare_index().await?;
        let usage = view.usage(collection).await.unwrap();
        let living = self.model.living();
        let dead = self.model.items.iter().filter(|item| item.died.is_some());
        let live = (usage.live.items, usage.live.bytes);
        let expired = (usage.expired.items, usage.expired.bytes);
        prop_assert_eq!(live, Model::sum(living.iter().copied()));
        prop_assert_eq!(expired, Model::sum(dead));
        let next = self.model.next_expiry().map(|second| Millis(second * 1000));
        prop_assert_eq!(usage.next_expiry, next);
        Ok(())
    }

    async fn compare_scans(&self) -> Result<(), TestCaseError> {
        let view = self.store.view().await.unwrap();
        let collection = view.catalog().collection_numbered(self.cid).unwrap();
        let living = self.model.living();
        let everything: Vec<_> = living
            .iter()
            .map(|item| Self::key(collection, item.partition, item.id).0)
            .collect();
        for items_max in [2, 1000] {
            let range = ItemRange::Everything;
            let scanned = self.scan(&range, items_max).await;
            prop_assert_eq!(&scanned, &everything, "pages of {}", items_max);
        }
        for partition in 0..PARTITIONS {
            let (_, pk) = Self::key(collection, partition, 0);
            let mut expected: Vec<_> = living
                .iter()
                .filter(|item| item.partition == partition)
                .map(|item| Self::key(collection, partition, item.id).0)
                .collect();
            expected.sort();
            let scanned = self.scan(&ItemRange::Partition(pk), 3).await;
            prop_assert_eq!(scanned, expected);
        }
        Ok(())
    }

    /// The entries of each value of an indexed path lead to the living items that have it, in the order of their creation.
    async fn compare_index(&self) -> Result<(), TestCaseError> {
        let view = self.store.view().await.unwrap();
        let collection = view.catalog().collection_numbered(self.cid).unwrap();
        let path = PathId::of(&Path::parse_pointer("/email").unwrap());
        let limits = ScanLimits {
            items_max: 1000,
            bytes_max: 1 << 20,
        };
        for email in 0..EMAILS {
            let span = Span::of_value(collection, path, &Value::from(i32::from(email)));
            let page = view
                .scan_index(collection, &[span], None, limits)
                .await
                .unwrap();
            let found: Vec<_> = page.items.into_iter().map(|(key, _)| key).collect();
            let expected: Vec<_> = self
                .model
                .living()
                .iter()
                .filter(|item| item.email == Some(email))
                .map(|item| Self::key(collection, item.partition, item.id).0)
                .collect();
            prop_assert_eq!(found, expected, "index entries of {}", email);
        }
        Ok(())
    }

    async fn scan(&self, range: &ItemRange, items_max: usize) -> Vec<ItemKey> {
        let view = self.store.view().await.unwrap();
        let collection = view.catalog().collection_numbered(self.cid).unwrap();
        let limits = ScanLimits {
            items_max,
            bytes_max: 1 << 20,
        };
        let mut keys = Vec::new();
        let mut resume: Option<Vec<u8>> = None;
        loop {
            let page = view
                .scan(collection, range, resume.as_deref(), limits)
                .await
                .unwrap();
            assert!(page.items.len() <= items_max);
            keys.extend(page.items.into_iter().map(|(key, _)| key));
            match page.resume {
                Some(next) => resume = Some(next),
                None => return keys,
            }
        }
    }

    /// Deletes the living and purges the dead.
    async fn clear(&mut self) -> Result<(), TestCaseError> {
        self.model.settle(self.now());
        self.purge(0).await?;
        let living: Vec<_> = self
            .model
            .living()
            .iter()
            .map(|item| (item.partition, item.id))
            .collect();
        for (partition, id) in living {
            self.write(partition, &[(id, None)]).await?;
        }
        prop_assert!(self.model.items.is_empty());
        self.compare().await
    }
}

fn options(place: Place) -> OpenOptions {
    OpenOptions {
        place,
        relaxed: true,
        virtual_clock: true,
        accept_clock: false,
    }
}

/// How many stories one store sees: the catalog grows with each.
const STORIES_MAX: u32 = 100;

/// How many stories to run on each store, until there were as many as wanted.
fn rounds(stories: u32) -> impl Iterator<Item = u32> {
    let stories = match std::env::var("PROPTEST_CASES") {
        Ok(text) => text.parse().unwrap_or(stories),
        Err(_) => stories,
    };
    (0..stories)
        .step_by(STORIES_MAX as usize)
        .map(move |done| (stories - done).min(STORIES_MAX))
}

/// Runs random stories on one store, each in a container of its own.
fn run(store: &Store, runtime: &tokio::runtime::Runtime, stories: u32) {
    let config = Config {
        cases: stories,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let stories = proptest::collection::vec(any_step(), 1..50);
    let outcome = runner.run(&stories, |steps| {
        runtime.block_on(async {
            let mut bench = Bench::new(store).await;
            for step in &steps {
                bench.step(step).await?;
            }
            bench.clear().await
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn memory_is_as_the_model() {
    let runtime = runtime();
    for stories in rounds(200) {
        let store = runtime
            .block_on(Store::open(options(Place::Memory)))
            .unwrap();
        run(&store, &runtime, stories);
    }
}

#[test]
fn disk_is_as_the_model_and_nothing_is_left_when_all_is_deleted() {
    let runtime = runtime();
    for stories in rounds(60) {
        let folder = TempDir::new().unwrap();
        let place = Place::Disk(folder.path().to_path_buf());
        let store = runtime.block_on(Store::open(options(place))).unwrap();
        run(&store, &runtime, stories);
        runtime.block_on(store.close()).unwrap();
        drop(store);
        let rows = raw_rows(&runtime, folder.path());
        assert!(rows.is_empty(), "left behind: {rows:?}");
    }
}

/// What lies in the engine's spaces for items and what belongs to them; tallies of zero do not count.
fn raw_rows(runtime: &tokio::runtime::Runtime, path: &std::path::Path) -> Vec<String> {
    use lapsedb_kv::Engine;
    let engine = lapsedb_kv::open(lapsedb_kv::OpenOptions::new(EngineKind::Rocksdb {
        path: path.to_path_buf(),
        relaxed: true,
    }))
    .unwrap();
    let mut rows = Vec::new();
    for space in [
        Space::Items,
        Space::Log,
        Space::Due,
        Space::Order,
        Space::Index,
        Space::Unique,
        Space::Tally,
    ] {
        let page = runtime
            .block_on(async {
                engine
                    .snapshot()
                    .await?
                    .scan(Scan::prefix(space, &[]))
                    .await
            })
            .unwrap();
        rows.extend(
            page.rows
                .iter()
                .map(|(key, value)| format!("{}: {key:02x?} = {value:02x?}", space.name())),
        );
    }
    rows
}
