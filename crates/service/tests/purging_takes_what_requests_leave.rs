//! Purging gives way to requests, catches up after them, and does nothing where nothing is due.

#![allow(
    clippy::disallowed_methods,
    reason = "throughput is paid back by the machine's clock"
)]

use std::time::{Duration, Instant};

use crate::support::{Bench, definition, object, partition};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::offers::Wanted;
use lapsedb_service::{Kind, Place, collections};
use tempfile::TempDir;

/// Request units a second of the container.
const RATE: u64 = 1000;
/// Items that expire.
const ITEMS: u64 = 200;
/// How often the container is found at its limit.
const ROUNDS: usize = 40;
/// Waits are told in whole milliseconds.
const MARGIN: Duration = Duration::from_millis(2);
/// Longer than any backlog of this test needs.
const WAITS_MAX: usize = 600;
const WAIT: Duration = Duration::from_millis(50);

/// Writes an item, again if the container is at its limit; says how long it was told to wait the last time.
async fn write(bench: &Bench, id: &str, bytes: usize, ttl: &str) -> Option<u64> {
    let pad = "x".repeat(bytes);
    let body = object(&format!(
        "{{\"id\":\"{id}\",\"pk\":\"p\",\"pad\":\"{pad}\"{ttl}}}"
    ));
    let op = ItemOp {
        action: Action::Upsert(Document::new(body).unwrap()),
        partition: Some(partition()),
        if_match: None,
        if_none_match: None,
        minimal: false,
    };
    let ran = items::run(&bench.ctx, ("d", "c"), None, &[op], Mode::Each).await;
    let result = ran.and_then(|ran| ran.results.into_iter().next().unwrap().map(|_| ()));
    match result.map_err(|error| error.kind) {
        Ok(()) => None,
        Err(Kind::Throttled { retry_after_ms }) => Some(retry_after_ms),
        Err(kind) => panic!("{kind:?}"),
    }
}

async fn must_write(bench: &Bench, id: &str) {
    while let Some(wait) = write(bench, id, 10, "").await {
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
}

async fn bench(place: Place, wanted: Option<&Wanted>) -> Bench {
    let bench = Bench::at(place, true).await;
    bench.database("d").await;
    collections::create(&bench.ctx, "d", &definition("c", Some(10)), wanted)
        .await
        .unwrap();
    bench
}

async fn purged(bench: &Bench) -> u64 {
    bench.service.gauges().await.unwrap().purged_items
}

async fn tick(bench: &Bench) {
    bench.service.tick().await;
}

#[test]
fn a_container_at_its_limit_is_not_purged_and_catches_up_when_the_load_stops() {
    lapsedb_testkit::run(async {
        let folder = TempDir::new().unwrap();
        for place in [Place::Memory, Place::Disk(folder.path().to_path_buf())] {
            let bench = bench(place, Some(&Wanted::Manual(RATE))).await;
            for number in 0..ITEMS {
                must_write(&bench, &format!("i{number}")).await;
            }
            bench.service.clock().advance(10_000).unwrap();
            let mut rounds = 0;
            while rounds < ROUNDS && purged(&bench).await < ITEMS {
                let (begun, before) = (Instant::now(), purged(&bench).await);
                // A megabyte costs more than half a second's units, so two of them leave a debt.
                if let Some(wait) = write(&bench, "large", 1_000_000, ",\"ttl\":-1").await {
                    tick(&bench).await;
                    // Where this thread had to wait for others until the debt was paid, nothing is shown.
                    if begun.elapsed() + MARGIN < Duration::from_millis(wait) {
                        rounds += 1;
                        assert_eq!(purged(&bench).await, before, "round {rounds}");
                    }
                    tokio::time::sleep(WAIT).await;
                }
            }
            assert!(rounds > 0, "the container was never found at its limit");
            for _ in 0..WAITS_MAX {
                if purged(&bench).await == ITEMS {
                    break;
                }
                tokio::time::sleep(WAIT).await;
                tick(&bench).await;
            }
            assert_eq!(purged(&bench).await, ITEMS, "the backlog drains");
            // A full second's worth is there at once: purging has spent nothing of it.
            tokio::time::sleep(Duration::from_secs(1)).await;
            for id in ["new", "newer"] {
                assert_eq!(write(&bench, id, 1_000_000, "").await, None);
            }
            bench.service.close().await.unwrap();
        }
    });
}

#[test]
fn a_backlog_drains_although_the_clock_stands_still() {
    lapsedb_testkit::run(async {
        let folder = TempDir::new().unwrap();
        for place in [Place::Memory, Place::Disk(folder.path().to_path_buf())] {
            let bench = bench(place, None).await;
            for number in 0..1200 {
                must_write(&bench, &format!("i{number}")).await;
            }
            bench.service.clock().advance(10_000).unwrap();
            for _ in 0..4 {
                tick(&bench).await;
            }
            assert_eq!(purged(&bench).await, 1200);
            bench.service.close().await.unwrap();
        }
    });
}

#[test]
fn where_nothing_is_due_nothing_is_written() {
    lapsedb_testkit::run(async {
        let folder = TempDir::new().unwrap();
        let bench = bench(Place::Disk(folder.path().to_path_buf()), None).await;
        must_write(&bench, "a").await;
        bench.service.clock().advance(10_000).unwrap();
        tick(&bench).await;
        assert_eq!(purged(&bench).await, 1);
        must_write(&bench, "b").await;
        tick(&bench).await;
        let before = bench.ctx.view().await.unwrap().lsn();
        for _ in 0..100 {
            tick(&bench).await;
            bench.service.sweep_some().await;
        }
        let after = bench.ctx.view().await.unwrap().lsn();
        assert!(
            after <= before + 1,
            "one write of the clock's floor, not {}",
            after - before
        );
    });
}
