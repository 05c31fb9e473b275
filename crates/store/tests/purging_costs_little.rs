//! A measurement: what purging costs beside ordinary deletes, what it gives back, and what readers feel of it.
//!
//! `cargo test --release -p lapsedb-store purging_costs_little -- --ignored --nocapture`, on a machine that is not busy
//! otherwise. `LAPSEDB_PURGE_ITEMS` says with how many items of 1 KB (10^5 unless told).

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a measurement asks the machine's clock and prints rounded figures"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lapsedb_record::{Millis, Policy, Secs, Setting};
use lapsedb_store::catalog::{CollectionBody, FIRST_INDEX_GENERATION, database_body};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{
    Collection, CollectionId, History, ItemKey, MetaChange, OpenOptions, Place, Store, Txn, View,
};
use lapsedb_value::{Object, Value, json};
use tempfile::TempDir;

/// Items expire in this one.
const DYING: CollectionId = CollectionId(2);
/// And stay in this one, to be read meanwhile.
const LIVING: CollectionId = CollectionId(3);
const LIVING_ITEMS: usize = 20_000;
const BATCH: usize = 100;
const LIFE: Secs = Secs(24 * 60 * 60);
/// From one batch of writes to the next: the items end over many seconds.
const BATCH_MS: u64 = 100;
const ROUNDS: usize = 5;
/// How long reads are timed without purging.
const QUIET: Duration = Duration::from_secs(3);
/// While requests come, a sweep rests so many times as long as it works: as the service has it.
const RESTS: u32 = 4;

fn items() -> usize {
    let text = std::env::var("LAPSEDB_PURGE_ITEMS");
    text.map_or(100_000, |text| text.parse().unwrap())
}

async fn define(store: &Store) {
    let text = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
        "indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],
        "excludedPaths":[{"path":"/\"_etag\"/?"}]}}"#;
    let document = json::parse(text.as_bytes(), &json::Limits::default()).unwrap();
    let mut change = MetaChange::default();
    change.put(
        keys::meta_numbered(MetaKind::Database, 1),
        database_body(1, "d"),
    );
    for (cid, setting) in [
        (DYING, Setting::OnWithDefault(LIFE)),
        (LIVING, Setting::Off),
    ] {
        let body = CollectionBody {
            cid,
            database: 1,
            id: if cid == DYING { "dying" } else { "living" },
            document: document.as_object().unwrap().clone(),
            index_generation: FIRST_INDEX_GENERATION,
            policy: Policy::new(setting),
            mongo: None,
            history: History::default(),
            indexes: None,
        };
        change.put(
            keys::meta_numbered(MetaKind::Collection, cid.0),
            body.into_object(),
        );
    }
    let view = store.view().await.unwrap();
    store.change_catalog(&view, change).await.unwrap();
}

async fn look(store: &Store, cid: CollectionId) -> (View, Arc<Collection>) {
    let view = store.view().await.unwrap();
    let collection = Arc::clone(view.catalog().collection_numbered(cid).unwrap());
    (view, collection)
}

/// An item of about 1 KB: some fields of different kinds, and text that packs about as well as text does.
fn item(collection: &Collection, number: usize) -> (ItemKey, PartitionKey, Object) {
    let partition = PartitionKey::parse(&format!("[\"p{}\"]", number % 5000)).unwrap();
    let id = format!("item-{number:09}");
    let key = ItemKey::new(collection, &partition, &id);
    let mut document = Object::new();
    document.push("id", Value::from(id));
    document.push("pk", Value::from(format!("p{}", number % 5000)));
    let mut state = number as u64 + 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for field in ["user", "device", "region", "kind"] {
        document.push(
            field,
            Value::from(format!("{field}-{:06}", random() % 1_000_000)),
        );
    }
    for field in ["count", "price", "score"] {
        document.push(field, Value::from((random() % 1_000_000) as i64));
    }
    let mut pad = String::new();
    while pad.len() < 720 {
        pad.push_str(["lorem ", "ipsum ", "dolor ", "amet "][(random() % 4) as usize]);
        pad.push_str(&format!("{:04x} ", random() % 65_536));
    }
    document.push("pad", Value::from(pad));
    (key, partition, document)
}

async fn load(store: &Store, cid: CollectionId, count: usize) {
    for from in (0..count).step_by(BATCH) {
        let (view, collection) = look(store, cid).await;
        let mut txn = Txn::new(&view, &collection);
        for number in from..(from + BATCH).min(count) {
            let (key, partition, document) = item(&collection, number);
            let put = txn.put(&key, &partition, Arc::new(document)).await.unwrap();
            assert!(put.is_ok());
        }
        txn.commit(store).await.unwrap();
        store.clock().advance(BATCH_MS).unwrap();
    }
}

async fn delete_all(store: &Store, count: usize) {
    for from in (0..count).step_by(BATCH) {
        let (view, collection) = look(store, DYING).await;
        let mut txn = Txn::new(&view, &collection);
        for number in from..(from + BATCH).min(count) {
            let (key, partition, _) = item(&collection, number);
            assert!(txn.get(&key, &partition).await.unwrap().is_some());
            txn.delete(&key, &partition).await.unwrap();
        }
        txn.commit(store).await.unwrap();
    }
}

/// Processor time of this process so far, in milliseconds; the kernel counts in tens.
fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let ticks: u64 = fields
        .split(' ')
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap())
        .sum();
    ticks as f64 * 10.0
}

/// Waits until the engine has nothing left to do by itself.
async fn calm() {
    loop {
        let before = cpu_ms();
        tokio::time::sleep(Duration::from_secs(2)).await;
        if cpu_ms() - before < 40.0 {
            return;
        }
    }
}

async fn open(folder: &Path) -> Store {
    let options = OpenOptions {
        place: Place::Disk(folder.to_path_buf()),
        relaxed: false,
        virtual_clock: true,
        accept_clock: false,
    };
    let store = Store::open(options).await.unwrap();
    if store.view().await.unwrap().catalog().databases().is_empty() {
        define(&store).await;
    }
    store
}

async fn purge(store: &Store) -> u64 {
    let (view, collection) = look(store, DYING).await;
    drop(view);
    store.clock().advance(LIFE.millis().0).unwrap();
    let purged = store.purge(&collection, Millis(0), u64::MAX);
    purged.await.unwrap().items
}

/// Reads living items until told to stop; gives the 99th percentile in microseconds.
fn reader(store: &Arc<Store>, stop: &Arc<AtomicBool>) -> tokio::task::JoinHandle<f64> {
    let (store, stop) = (Arc::clone(store), Arc::clone(stop));
    tokio::spawn(async move {
        let mut times = Vec::new();
        let mut number = 1;
        while !stop.load(Ordering::Relaxed) {
            number = number * 48_271 % 2_147_483_647;
            let start = Instant::now();
            let (view, collection) = look(&store, LIVING).await;
            let (key, ..) = item_key(&collection, number % LIVING_ITEMS);
            let found = view.get(&collection, &key).await.unwrap();
            assert!(found.is_some());
            times.push(start.elapsed());
            drop(found);
            // As clients do, it waits for the next request.
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        times.sort_unstable();
        times[times.len() * 99 / 100].as_secs_f64() * 1e6
    })
}

fn item_key(collection: &Collection, number: usize) -> (ItemKey, PartitionKey) {
    let partition = PartitionKey::parse(&format!("[\"p{}\"]", number % 5000)).unwrap();
    let key = ItemKey::new(collection, &partition, &format!("item-{number:09}"));
    (key, partition)
}

/// CPU per item in microseconds: settling, settling with rewriting, and the share of the disk that is left.
async fn by_burial(count: usize) -> (f64, f64, f64) {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).await;
    load(&store, DYING, count).await;
    calm().await;
    let disk = store.disk_bytes();
    let start = cpu_ms();
    assert_eq!(purge(&store).await, count as u64);
    let settled = cpu_ms() - start;
    while !store.sweep(DYING).await.unwrap() {}
    calm().await;
    let swept = cpu_ms() - start;
    let left = store.disk_bytes();
    println!(
        "burial: disk {} MB before, {} MB after",
        disk >> 20,
        left >> 20
    );
    let each = |ms: f64| ms * 1000.0 / count as f64;
    (each(settled), each(swept), left as f64 / disk as f64)
}

/// CPU per item in microseconds of deletes, with the compaction they trigger.
async fn by_deletes(count: usize) -> f64 {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).await;
    load(&store, DYING, count).await;
    calm().await;
    let disk = store.disk_bytes();
    let start = cpu_ms();
    delete_all(&store, count).await;
    let alone = cpu_ms() - start;
    calm().await;
    let all = cpu_ms() - start;
    let left = store.disk_bytes();
    println!(
        "deletes: disk {} MB before, {} MB after",
        disk >> 20,
        left >> 20
    );
    println!(
        "deletes: {:.1} us of CPU per item until answered",
        alone * 1000.0 / count as f64
    );
    all * 1000.0 / count as f64
}

/// The 99th percentile of reads while purging, by that of reads alone, round by round.
async fn slowdowns(count: usize) -> Vec<f64> {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(open(folder.path()).await);
    load(&store, LIVING, LIVING_ITEMS).await;
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        load(&store, DYING, count).await;
        calm().await;
        let stop = Arc::new(AtomicBool::new(false));
        let reading = reader(&store, &stop);
        tokio::time::sleep(QUIET).await;
        stop.store(true, Ordering::Relaxed);
        let alone = reading.await.unwrap();
        stop.store(false, Ordering::Relaxed);
        let reading = reader(&store, &stop);
        let start = Instant::now();
        assert_eq!(purge(&store).await, count as u64);
        loop {
            let stretch = Instant::now();
            let done = store.sweep(DYING).await.unwrap();
            let took = stretch.elapsed();
            if done {
                break;
            }
            tokio::time::sleep(took * RESTS).await;
        }
        let took = start.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let purging = reading.await.unwrap();
        println!("reads: p99 {alone:.0} us alone, {purging:.0} us while purging for {took:.1} s");
        ratios.push(purging / alone);
    }
    ratios
}

#[test]
#[ignore = "a measurement of minutes that wants the machine for itself: make soak"]
fn purging_costs_little_gives_the_space_back_and_is_not_felt() {
    lapsedb_testkit::run_on_threads(2, async {
        let count = items();
        let deleted = by_deletes(count).await;
        let (settled, swept, left) = by_burial(count).await;
        println!("{count} items: deletes {deleted:.1} us of CPU each with their compaction");
        println!(
            "burial {settled:.3} us each, 1/{:.0} of a delete",
            deleted / settled.max(0.001)
        );
        println!(
            "with rewriting {swept:.1} us, 1/{:.1} of a delete",
            deleted / swept
        );
        println!("{:.1} % of the disk is left", left * 100.0);
        let mut ratios = slowdowns(count / ROUNDS).await;
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ROUNDS / 2];
        println!("reads while purging: {median:.2} times as long at the 99th percentile");
        assert!(settled * 50.0 <= deleted, "{settled} against {deleted}");
        assert!(swept * 3.0 <= deleted, "{swept} against {deleted}");
        assert!(left <= 0.1, "{left}");
        assert!(median <= 1.5, "{ratios:?}");
    });
}
