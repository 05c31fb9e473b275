//! Rows C11 and C12 of the clock faults, as far as one engine has them: whoever reads through it has its time and no other, and
//! what is stored does not move it.

#![allow(
    clippy::disallowed_methods,
    reason = "the order of reads is told by the machine's clock"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lapsedb_kv::{Batch, Engine, EngineKind, Space};
use lapsedb_record::{Dates, Header, ItemTtl, Mark, Policy, Secs, Setting};
use lapsedb_store::catalog::{CollectionBody, FIRST_INDEX_GENERATION, database_body};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{
    Collection, CollectionId, History, ItemKey, MetaChange, OpenOptions, Place, Store, Txn, View,
};
use lapsedb_value::{Object, Value, bson, json};
use tempfile::TempDir;

const CID: CollectionId = CollectionId(2);
const LIFE: u64 = 5;
/// The year 9999.
const FAR: Secs = Secs(253_370_764_800);

async fn open(path: &Path) -> Store {
    let options = OpenOptions {
        place: Place::Disk(path.to_path_buf()),
        relaxed: true,
        virtual_clock: true,
        accept_clock: false,
    };
    Store::open(options).await.unwrap()
}

async fn define(store: &Store) {
    let text = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    let document = json::parse(text.as_bytes(), &json::Limits::default()).unwrap();
    let body = CollectionBody {
        cid: CID,
        database: 1,
        id: "c",
        document: document.as_object().unwrap().clone(),
        index_generation: FIRST_INDEX_GENERATION,
        policy: Policy::new(Setting::OnWithDefault(Secs(LIFE))),
        mongo: None,
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
    let view = store.view().await.unwrap();
    store.change_catalog(&view, change).await.unwrap();
}

async fn look(store: &Store) -> (View, Arc<Collection>) {
    let view = store.view().await.unwrap();
    let collection = Arc::clone(view.catalog().collection_numbered(CID).unwrap());
    (view, collection)
}

fn key(collection: &Collection, id: &str) -> (ItemKey, PartitionKey) {
    let partition = PartitionKey::parse("[\"p\"]").unwrap();
    (ItemKey::new(collection, &partition, id), partition)
}

fn document(id: &str) -> Object {
    let mut document = Object::new();
    document.push("id", Value::from(id));
    document.push("pk", Value::from("p"));
    document
}

async fn put(store: &Store, id: &str) {
    let (view, collection) = look(store).await;
    let (key, partition) = key(&collection, id);
    let mut txn = Txn::new(&view, &collection);
    let put = txn.put(&key, &partition, Arc::new(document(id))).await;
    assert!(put.unwrap().is_ok());
    txn.commit(store).await.unwrap();
}

async fn is_there(store: &Store, id: &str) -> bool {
    let (view, collection) = look(store).await;
    let (key, _) = key(&collection, id);
    view.get(&collection, &key).await.unwrap().is_some()
}

/// Two nodes cannot share an embedded engine, so their two clocks cannot differ: there is one time, the engine's. What is
/// left of the row is that two readers of it, at once, while it moves, never see an item again that one of them saw gone.
#[test]
fn c11_readers_of_one_engine_never_see_again_what_one_saw_gone() {
    let _limit = lapsedb_testkit::TimeLimit::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(3)
        .enable_all()
        .build()
        .unwrap();
    let folder = TempDir::new().unwrap();
    let store = Arc::new(runtime.block_on(open(folder.path())));
    runtime.block_on(define(&store));
    for _ in 0..20 {
        runtime.block_on(put(&store, "a"));
        let stop = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
                runtime.spawn(async move {
                    let mut reads = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let start = Instant::now();
                        let there = is_there(&store, "a").await;
                        reads.push((start, Instant::now(), there));
                        tokio::task::yield_now().await;
                    }
                    reads
                })
            })
            .collect();
        for _ in 0..LIFE * 1000 / 50 + 2 {
            store.clock().advance(50).unwrap();
            std::thread::yield_now();
        }
        assert!(!runtime.block_on(is_there(&store, "a")));
        stop.store(true, Ordering::Relaxed);
        let reads: Vec<_> = readers
            .into_iter()
            .flat_map(|reader| runtime.block_on(reader).unwrap())
            .collect();
        let gone = reads.iter().filter(|(_, _, there)| !there);
        if let Some(first) = gone.map(|(_, end, _)| *end).min() {
            let again = |(start, _, there): &(Instant, Instant, bool)| *there && *start > first;
            assert!(!reads.iter().any(again));
        }
    }
}

#[test]
fn c12_a_far_future_write_time_in_the_store_does_not_move_time() {
    lapsedb_testkit::run(async {
        let folder = TempDir::new().unwrap();
        let store = open(folder.path()).await;
        define(&store).await;
        put(&store, "a").await;
        let (view, collection) = look(&store).await;
        let (before, alien) = (view.now(), key(&collection, "alien").0);
        drop(view);
        store.close().await.unwrap();
        drop(store);
        plant(folder.path(), &alien).await;
        let store = open(folder.path()).await;
        assert_eq!(store.clock().now(), before);
        assert!(is_there(&store, "a").await && is_there(&store, "alien").await);
        put(&store, "b").await;
        assert_eq!(store.clock().now(), before);
        store.clock().advance(LIFE * 1000).unwrap();
        assert!(!is_there(&store, "a").await && is_there(&store, "alien").await);
        // Nor does purging think that anything else is old because of it.
        put(&store, "c").await;
        let purged = store.purge(&collection, lapsedb_record::Millis(0), u64::MAX);
        assert_eq!(purged.await.unwrap().items, 2);
        while !store.sweep(CID).await.unwrap() {}
        assert!(is_there(&store, "c").await && is_there(&store, "alien").await);
    });
}

/// Puts a record into the engine that says it was written in a far future.
async fn plant(path: &Path, key: &ItemKey) {
    let engine = lapsedb_kv::open(lapsedb_kv::OpenOptions::new(EngineKind::Rocksdb {
        path: path.to_path_buf(),
        relaxed: true,
    }))
    .unwrap();
    let mut body = Vec::new();
    bson::write_document(&document("alien"), &mut body);
    let header = Header {
        ttl: ItemTtl::Inherit,
        index: 0,
        written: FAR,
        lsn: 1,
        ordinal: 7,
        charged: body.len() as u32,
        dates: Dates::new(),
    };
    let (mut record, mut entry) = (Vec::new(), Vec::new());
    header.write(&body, &mut record);
    Mark::undated(ItemTtl::Inherit, FAR).write(&mut entry);
    entry.extend_from_slice(key.tail());
    let mut batch = Batch::new();
    batch.put(Space::Items, key.as_bytes(), record);
    batch.put(Space::Order, keys::order(CID, 7), entry);
    engine.commit(batch).await.unwrap();
    engine.close().await.unwrap();
}
