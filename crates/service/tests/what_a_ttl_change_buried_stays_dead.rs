//! A change of the default TTL acts at once, and never brings back what anybody has seen gone.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Bench, visible, write};

const DB: &str = "db";
const COLL: &str = "c";

async fn bench(default_ttl: Option<i64>) -> Bench {
    let bench = Bench::new().await;
    bench.database(DB).await;
    bench.collection(DB, COLL, default_ttl).await;
    bench
}

/// Default `from` at the write, changed `after_ms` later: whether the item is seen then, and again much later.
async fn changed(from: Option<i64>, to: Option<i64>, after_ms: u64) -> (bool, bool) {
    let bench = bench(from).await;
    let now = bench.service.clock().now();
    // To the start of a second, so that the edge lies where it is said.
    bench
        .service
        .clock()
        .set(lapsedb_service::Secs(now.secs().0 + 1).millis())
        .unwrap();
    write(&bench.ctx, DB, COLL, "a").await.unwrap();
    bench.service.clock().advance(after_ms).unwrap();
    bench.set_ttl(DB, COLL, to).await.unwrap();
    let soon = visible(&bench.ctx, DB, COLL, "a").await.unwrap();
    bench.service.clock().advance(1_000_000_000).unwrap();
    (soon, visible(&bench.ctx, DB, COLL, "a").await.unwrap())
}

#[test]
fn a_shorter_default_ends_lives_at_once() {
    lapsedb_testkit::run(async {
        assert_eq!(changed(Some(10), Some(5), 7000).await, (false, false));
        assert_eq!(changed(Some(10), Some(5), 4999).await, (true, false));
        assert_eq!(changed(None, Some(5), 10_000).await, (false, false));
    });
}

#[test]
fn a_longer_default_revives_nothing() {
    lapsedb_testkit::run(async {
        for to in [Some(10), Some(2_147_483_647), Some(-1), None] {
            let never_ends = to != Some(10);
            assert_eq!(
                changed(Some(5), to, 4999).await,
                (true, never_ends),
                "{to:?}"
            );
            for after_ms in [5000, 5001, 7000, 5_000_000] {
                let seen = changed(Some(5), to, after_ms).await;
                assert_eq!(seen, (false, false), "{to:?} after {after_ms} ms");
            }
        }
    });
}

#[test]
fn no_series_of_changes_revives_anything() {
    lapsedb_testkit::run(async {
        let bench = bench(Some(5)).await;
        write(&bench.ctx, DB, COLL, "a").await.unwrap();
        bench.service.clock().advance(6000).unwrap();
        for to in [
            None,
            Some(5),
            None,
            Some(-1),
            Some(100),
            Some(1),
            None,
            Some(2_147_483_647),
        ] {
            bench.set_ttl(DB, COLL, to).await.unwrap();
            assert!(!visible(&bench.ctx, DB, COLL, "a").await.unwrap(), "{to:?}");
        }
        write(&bench.ctx, DB, COLL, "a").await.unwrap();
        assert!(visible(&bench.ctx, DB, COLL, "a").await.unwrap());
    });
}

/// The commit of a longer default races with the end of an item's life. Whoever saw the item gone must not see it again.
#[test]
fn a_longer_default_that_commits_late_revives_nothing() {
    lapsedb_testkit::run_on_threads(4, async {
        const ROUNDS: usize = 60;
        let bench = bench(Some(1)).await;
        for round in 0..ROUNDS {
            let id = format!("a{round}");
            bench.set_ttl(DB, COLL, Some(1)).await.unwrap();
            let second = bench.service.clock().now().secs().0 + 1;
            bench
                .service
                .clock()
                .set(lapsedb_service::Secs(second).millis())
                .unwrap();
            write(&bench.ctx, DB, COLL, &id).await.unwrap();
            bench.service.clock().advance(990).unwrap();
            let over = AtomicBool::new(false);
            let passing = async {
                for _ in 0..20 {
                    bench.service.clock().advance(1).unwrap();
                    tokio::task::yield_now().await;
                }
            };
            let changing = async {
                for longer in [Some(1), Some(1000), None, Some(1), Some(5000)] {
                    bench.set_ttl(DB, COLL, longer).await.unwrap();
                    tokio::task::yield_now().await;
                }
                over.store(true, Ordering::SeqCst);
            };
            let watching = async {
                let mut gone = false;
                let mut last = false;
                while !last {
                    last = over.load(Ordering::SeqCst);
                    let seen = visible(&bench.ctx, DB, COLL, &id).await.unwrap();
                    assert!(!(gone && seen), "{id} came back");
                    gone = !seen;
                    tokio::task::yield_now().await;
                }
            };
            tokio::join!(passing, changing, watching);
        }
    });
}
