//! Documents whose time to live counts from a path: what the model does not reach.

use std::sync::Arc;

use crate::bench::{self, Bench, CID, object};
use lapsedb_record::{Secs, Setting};
use lapsedb_store::{Place, Rebased, StoreError, Txn};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value};

const DOCUMENTS: i32 = 400;

fn path(text: &str) -> Option<Path> {
    Some(Path::parse_pointer(text).unwrap())
}

fn based(id: i32, at: i64) -> Object {
    let mut document = object("{}");
    document.push("_id", Value::Int32(id));
    document.push("at", Value::Int64(at));
    document
}

fn lasting(life: u64) -> Setting {
    Setting::OnWithDefault(Secs(life))
}

/// Every longer default takes new numbers. Documents that live through all of them end up with the newest.
#[test]
fn a_default_may_be_changed_as_often_as_one_likes() {
    lapsedb_testkit::run(async {
        let bench = Bench::new(Place::Memory).await;
        bench.ttl(lasting(10), path("/at").as_ref()).await;
        let now = bench.now() / 1000;
        bench.store().rebase(CID).await.unwrap();
        bench.put(based(1, now + 1000)).await.unwrap();
        for change in 0..520 {
            bench.setting(lasting(10 + change % 2)).await;
            bench.setting(lasting(5)).await;
        }
        bench.put(based(2, now - 5)).await.unwrap();
        let (_, collection) = bench.look().await;
        assert!(collection.indexes.is_rebasing());
        bench.store().rebase(CID).await.unwrap();
        bench.put(based(3, now - 4)).await.unwrap();
        assert_eq!(bench.ids().await, [1, 3]);
        bench.purge().await;
        let (_, collection) = bench.look().await;
        let rules = collection.indexes.date_rules().all().len();
        assert!(rules < 100, "{rules} rules");
        bench.advance(1_005_000);
        assert_eq!(bench.ids().await, Vec::<i64>::new());
    });
}

/// The process ends before documents have their bases, once by a stop and once without one: the new setting waits, nothing living
/// is lost, nothing expired shows, and the setting comes into force when they have them.
#[test]
fn a_setting_that_waits_outlives_the_process() {
    lapsedb_testkit::run(async {
        for crash in [false, true] {
            let folder = tempfile::TempDir::new().unwrap();
            let mut bench = Bench::new(Place::Disk(folder.path().to_path_buf())).await;
            bench.advance(1000 - bench.now().unsigned_abs() % 1000);
            let now = bench.now() / 1000;
            bench.setting(lasting(10)).await;
            bench.put(based(1, now - 1000)).await.unwrap();
            bench.advance(10_000);
            // 1 has expired. 2 lives by the old definition and the new one, 3 only by the old, and crosswise both would end.
            bench.put(based(2, now - 40)).await.unwrap();
            bench.put(based(3, now - 100)).await.unwrap();
            bench.ttl(lasting(60), path("/at").as_ref()).await;
            for _ in 0..2 {
                match crash {
                    true => bench.crash().await,
                    false => bench.restart().await,
                }
                assert_eq!(bench.ids().await, [2, 3]);
                bench.put(based(4, now - 1000)).await.unwrap();
                assert_eq!(bench.ids().await, [2, 3, 4]);
                bench.delete(4).await;
            }
            let (_, collection) = bench.look().await;
            assert!(collection.indexes.is_rebasing());
            assert_eq!(collection.policy.setting, Setting::Off);
            drop(collection);
            assert_eq!(bench.store().rebase(CID).await.unwrap(), Rebased::Whole);
            let (_, collection) = bench.look().await;
            assert_eq!(collection.policy.setting, lasting(60));
            assert_eq!(bench.ids().await, [2]);
            bench.advance(9_999);
            assert_eq!(bench.ids().await, [2]);
            bench.advance(1);
            assert_eq!(bench.ids().await, Vec::<i64>::new());
        }
    });
}

/// Writers go on meanwhile, and win; in the end all documents go by the new path.
#[test]
fn documents_get_their_bases_while_writers_write() {
    lapsedb_testkit::run(async {
        let bench = Arc::new(Bench::new(Place::Memory).await);
        let now = bench.now() / 1000;
        for first in (0..DOCUMENTS).step_by(100) {
            let some = (first..first + 100).map(|id| based(id, now - 100));
            bench.put_all(some.collect()).await;
        }
        bench.ttl(lasting(50), path("/at").as_ref()).await;
        let writer = {
            let bench = Arc::clone(&bench);
            tokio::spawn(async move {
                for id in (0..DOCUMENTS).step_by(7) {
                    write(&bench, based(id, now)).await;
                }
            })
        };
        assert_eq!(bench.store().rebase(CID).await.unwrap(), Rebased::Whole);
        writer.await.unwrap();
        let written = (0..DOCUMENTS).step_by(7).count();
        let (view, collection) = bench.look().await;
        assert!(!collection.indexes.is_rebasing());
        let usage = view.usage(&collection).await.unwrap();
        assert_eq!(usage.live.items, written as u64);
        assert_eq!(view.recount(&collection).await.unwrap().buckets_wrong, 0);
        bench.advance(50_000);
        let (view, collection) = bench.look().await;
        assert_eq!(view.count(&collection).await.unwrap(), 0);
    });
}

async fn write(bench: &Bench, document: Object) {
    let document = Arc::new(document);
    let id = document.get("_id").and_then(Value::as_i64).unwrap();
    loop {
        let (view, collection) = bench.look().await;
        let (key, partition) = bench::Bench::key(&collection, i32::try_from(id).unwrap());
        let mut txn = Txn::new(&view, &collection);
        let put = txn.put(&key, &partition, Arc::clone(&document)).await;
        put.unwrap().unwrap();
        match txn.commit(bench.store()).await {
            Ok(_) => return,
            Err(StoreError::Retry) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}
