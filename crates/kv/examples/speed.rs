//! How fast the RocksDB engine is on this machine: `cargo run --release -p lapsedb-kv --example speed [folder]`.
//!
//! One commit is what one small document costs: 7 puts (1 KiB in all), a check and 3 sums.

// A measurement needs the clock of the machine; nothing here decides what is visible.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, missing_docs)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lapsedb_kv::{
    Batch, Engine, EngineKind, Expect, Fill, OpenOptions, Scan, Snapshot, Space, Template, open,
};

const RUN: Duration = Duration::from_secs(3);
const READS: u64 = 300_000;

fn document(number: u64) -> Batch {
    let id = number.to_be_bytes();
    let mut body = Template::with_capacity(800);
    body.fill(Fill::Stamp).push(&[number as u8; 792]);
    let mut log = Template::from(&b"log"[..]);
    log.fill(Fill::Ordinal(0));
    let mut second = Template::from(&b"second"[..]);
    second.fill(Fill::Seconds { plus: 0, unit: 1 });
    let mut batch = Batch::new();
    batch.check(Space::Meta, &b"settings"[..], Expect::Absent);
    batch.check(Space::Items, &id[..], Expect::Absent);
    batch
        .put(Space::Items, &id[..], body)
        .put(Space::Log, log, &id[..]);
    for path in 0..5u8 {
        batch.put(
            Space::Index,
            [&[path], &id[..], &[0; 20]].concat(),
            &b"header"[..],
        );
    }
    batch
        .add(second, 1, 800)
        .add(&b"hour"[..], 1, 800)
        .add(&b"day"[..], 1, 800);
    batch
}

fn rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}

#[tokio::main]
async fn main() {
    let folder = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join("lapsedb-kv-speed"),
        PathBuf::from,
    );
    let _ = std::fs::remove_dir_all(&folder);
    let options = |relaxed| {
        OpenOptions::new(EngineKind::Rocksdb {
            path: folder.clone(),
            relaxed,
        })
    };
    println!("resident before opening: {} KiB", rss_kib());
    let start = Instant::now();
    let engine = open(options(false)).unwrap();
    println!(
        "new store open after {:?}, resident {} KiB",
        start.elapsed(),
        rss_kib()
    );

    let engine = Arc::new(engine);
    let next = Arc::new(AtomicU64::new(0));
    for clients in [1, 8, 32, 128] {
        let before = next.load(Ordering::SeqCst);
        let start = Instant::now();
        let tasks: Vec<_> = (0..clients)
            .map(|_| {
                let (engine, next) = (engine.clone(), next.clone());
                tokio::spawn(async move {
                    while start.elapsed() < RUN {
                        engine
                            .commit(document(next.fetch_add(1, Ordering::SeqCst)))
                            .await
                            .unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let commits = next.load(Ordering::SeqCst) - before;
        println!(
            "{clients} clients: {:.0} durable commits/s",
            commits as f64 / start.elapsed().as_secs_f64()
        );
    }

    let documents = next.load(Ordering::SeqCst);
    reads(&engine, documents, "from write buffers and tables").await;
    let start = Instant::now();
    engine.close().await.unwrap();
    println!(
        "closed after {:?}, {} KiB on disk, resident {} KiB",
        start.elapsed(),
        engine.disk_bytes() / 1024,
        rss_kib()
    );
    drop(engine);
    let start = Instant::now();
    let engine = open(options(true)).unwrap();
    println!("open again after {:?}", start.elapsed());
    reads(&engine, documents, "from tables").await;
    reads(&engine, documents, "from tables, again").await;
    println!("resident {} KiB", rss_kib());
}

async fn reads(engine: &lapsedb_kv::AnyEngine, documents: u64, from: &str) {
    let mut state = 1u64;
    let mut bytes = 0;
    let start = Instant::now();
    for _ in 0..READS {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let key = ((state >> 33) % documents).to_be_bytes();
        let snapshot = engine.snapshot().await.unwrap();
        bytes += Bytes::from(snapshot.get(Space::Items, &key).await.unwrap().unwrap()).len();
    }
    let each = start.elapsed() / READS as u32;
    let start = Instant::now();
    for _ in 0..READS {
        bytes += engine.snapshot().await.unwrap().stamp().0 as usize & 1;
    }
    let snapshot = start.elapsed() / READS as u32;
    let scan = Scan {
        rows_max: 100,
        ..Scan::prefix(Space::Index, &[1])
    };
    let start = Instant::now();
    for _ in 0..1000 {
        bytes += engine
            .snapshot()
            .await
            .unwrap()
            .scan(scan.clone())
            .await
            .unwrap()
            .rows
            .len();
    }
    println!(
        "{from}: a point read {each:?}, a snapshot {snapshot:?}, a scan of 100 {:?} ({bytes})",
        start.elapsed() / 1000
    );
}
