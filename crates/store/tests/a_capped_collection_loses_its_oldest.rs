//! The oldest items of a capped collection go in the commit that brings new ones: one after the other, the dead apart.

use std::sync::Arc;

use crate::bench::{Bench, object};
use lapsedb_record::Setting;
use lapsedb_store::{Cap, Collection, Place, StoreError, Txn, View};

const THREE: Cap = Cap {
    items_max: 3,
    bytes_max: u64::MAX,
};

async fn add<'v>(view: &'v View, collection: &Arc<Collection>, ids: &[i32], ttl: bool) -> Txn<'v> {
    let mut txn = Txn::new(view, collection);
    for id in ids {
        let (key, partition) = Bench::key(collection, *id);
        let ttl = if ttl { r#","ttl":10"# } else { "" };
        let document = object(&format!(r#"{{"_id":{id}{ttl}}}"#));
        let put = txn.put(&key, &partition, Arc::new(document)).await.unwrap();
        assert!(put.is_ok());
    }
    txn
}

async fn insert(bench: &Bench, ids: &[i32], ttl: bool) {
    let (view, collection) = bench.look().await;
    let mut txn = add(&view, &collection, ids, ttl).await;
    txn.make_room(THREE).await.unwrap();
    txn.commit(bench.store()).await.unwrap();
}

#[test]
fn the_newest_stay_and_the_dead_take_no_room() {
    lapsedb_testkit::run(async {
        let bench = Bench::new(Place::Memory).await;
        bench.setting(Setting::On).await;
        insert(&bench, &[1, 2], false).await;
        insert(&bench, &[3, 4, 5, 6, 7], false).await;
        assert_eq!(bench.ids().await, [5, 6, 7]);
        insert(&bench, &[8], true).await;
        assert_eq!(bench.ids().await, [6, 7, 8]);
        bench.advance(20_000);
        assert_eq!(bench.ids().await, [6, 7]);
        insert(&bench, &[9], false).await;
        assert_eq!(bench.ids().await, [6, 7, 9]);
        // An id of the dead is a new item, and comes last.
        insert(&bench, &[8], false).await;
        assert_eq!(bench.ids().await, [7, 9, 8]);
    });
}

#[test]
fn of_two_who_see_the_same_room_one_looks_again() {
    lapsedb_testkit::run(async {
        let bench = Bench::new(Place::Memory).await;
        insert(&bench, &[1, 2], false).await;
        let (view, collection) = bench.look().await;
        let mut first = add(&view, &collection, &[3], false).await;
        let mut second = add(&view, &collection, &[4], false).await;
        first.make_room(THREE).await.unwrap();
        second.make_room(THREE).await.unwrap();
        first.commit(bench.store()).await.unwrap();
        assert!(matches!(
            second.commit(bench.store()).await,
            Err(StoreError::Retry)
        ));
        insert(&bench, &[4], false).await;
        assert_eq!(bench.ids().await, [2, 3, 4]);
    });
}

#[test]
fn an_item_too_large_for_all_others_stays_alone() {
    lapsedb_testkit::run(async {
        let bench = Bench::new(Place::Memory).await;
        insert(&bench, &[1, 2, 3], false).await;
        let (view, collection) = bench.look().await;
        let mut txn = add(&view, &collection, &[4], false).await;
        let tiny = Cap {
            items_max: u64::MAX,
            bytes_max: 1,
        };
        txn.make_room(tiny).await.unwrap();
        txn.commit(bench.store()).await.unwrap();
        assert_eq!(bench.ids().await, [4]);
    });
}
