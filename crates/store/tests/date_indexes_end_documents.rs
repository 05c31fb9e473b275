//! Date indexes: exact to the millisecond, and the dead stay dead whatever becomes of the index (M6–M13).

use crate::bench::{self, Bench, date_index, dated, object};
use lapsedb_record::{Secs, Setting};
use lapsedb_store::{
    Built, ChangeLimits, EventKind, EventPlace, Events, IndexDefinition, ItemRange, Place, Source,
};
use lapsedb_value::{Object, Value};
use tempfile::TempDir;

/// Runs a story in memory and on disk.
async fn everywhere(story: impl AsyncFn(&mut Bench)) {
    story(&mut Bench::new(Place::Memory).await).await;
    let folder = TempDir::new().unwrap();
    let place = Place::Disk(folder.path().to_path_buf());
    story(&mut Bench::new(place).await).await;
}

fn with(mut document: Object, name: &str, value: Value) -> Object {
    document.insert(name, value);
    document
}

#[test]
fn m6_a_document_ends_at_its_date_to_the_millisecond() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            bench.put(dated(1, now + 1500)).await.unwrap();
            bench.create(date_index("d", "date", 0)).await;
            bench.put(dated(2, now + 1501)).await.unwrap();
            bench.put(dated(3, now)).await.unwrap();
            assert_eq!(
                bench.ids().await,
                [1, 2],
                "a date that has come ends at once"
            );
            bench.advance(1499);
            assert_eq!(bench.ids().await, [1, 2]);
            bench.advance(1);
            assert_eq!(bench.ids().await, [2]);
            bench.restart().await;
            assert_eq!(bench.ids().await, [2]);
            bench.advance(1);
            assert_eq!(bench.ids().await, [0; 0]);
            assert_eq!(bench.purge().await, 3);
            assert_eq!(bench.ids().await, [0; 0]);
        })
        .await;
    });
}

#[test]
fn m8_m9_what_is_no_date_never_ends_and_of_several_the_earliest_counts() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            let values = [
                Value::Null,
                Value::Double(1.0),
                Value::from("2020-01-01"),
                Value::Timestamp(1),
                Value::Array(vec![]),
                Value::Array(vec![Value::Int32(1), Value::Array(vec![Value::Date(0)])]),
                Value::Array(vec![
                    Value::Date(now + 9000),
                    Value::Null,
                    Value::Date(now + 1000),
                ]),
            ];
            for (id, date) in (1..).zip(values) {
                let document = with(dated(id, 0), "date", date);
                bench.put(document).await.unwrap();
            }
            bench.put(object(r#"{"_id":8}"#)).await.unwrap();
            let (_, built) = bench.create(date_index("d", "date", 0)).await;
            assert!(matches!(
                built,
                Built::Whole {
                    documents: 8,
                    dated: 1
                }
            ));
            bench.advance(999);
            assert_eq!(bench.ids().await, [1, 2, 3, 4, 5, 6, 7, 8]);
            bench.advance(1);
            assert_eq!(bench.ids().await, [1, 2, 3, 4, 5, 6, 8]);
            bench.advance(1_000_000_000_000);
            assert_eq!(bench.ids().await, [1, 2, 3, 4, 5, 6, 8]);
        })
        .await;
    });
}

#[test]
fn dates_are_found_below_arrays_of_objects() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            let mut inner = Object::new();
            inner.push("at", Value::Date(now + 10));
            let list = Value::Array(vec![Value::Int32(1), Value::Object(inner)]);
            let document = with(object(r#"{"_id":1}"#), "list", list);
            bench.put(document).await.unwrap();
            bench.create(date_index("d", "list.at", 1)).await;
            bench.advance(1009);
            assert_eq!(bench.ids().await, [1]);
            bench.advance(1);
            assert_eq!(bench.ids().await, [0; 0]);
        })
        .await;
    });
}

#[test]
fn m11_m13_ttl_and_date_both_end_and_ttl_alone_is_inert() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            bench.create(date_index("d", "date", 0)).await;
            let far = |id: i32| dated(id, now + 1_000_000);
            bench
                .put(with(far(1), "ttl", Value::Int32(5)))
                .await
                .unwrap();
            bench.put(far(2)).await.unwrap();
            bench.put(dated(3, now + 4000)).await.unwrap();
            bench.advance(8000);
            assert_eq!(
                bench.ids().await,
                [1, 2],
                "without a default a ttl is plain data"
            );
            bench.setting(Setting::OnWithDefault(Secs(100))).await;
            assert_eq!(bench.ids().await, [2]);
            bench.setting(Setting::Off).await;
            assert_eq!(bench.ids().await, [2]);
            assert_eq!(bench.purge().await, 2);
            assert_eq!(bench.ids().await, [2]);
        })
        .await;
    });
}

#[test]
fn a_dropped_index_leaves_its_dead_dead_and_touches_nobody_else() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            for (id, at) in [(1, now - 1), (2, now), (3, now + 1)] {
                bench.put(dated(id, at)).await.unwrap();
            }
            let (number, _) = bench.create(date_index("d", "date", 0)).await;
            assert_eq!(bench.ids().await, [3]);
            bench.drop_index(number).await;
            assert_eq!(bench.ids().await, [3]);
            bench.advance(10);
            // Written later with an old date: no burial reaches it.
            bench.put(dated(4, now - 5)).await.unwrap();
            bench.put(dated(1, now - 5)).await.unwrap();
            bench.restart().await;
            assert_eq!(bench.ids().await, [3, 4, 1]);
            // A new index on the same field ends what its own rule says, dead again or not.
            let (number, _) = bench.create(date_index("e", "date", 1)).await;
            assert_eq!(bench.ids().await, [3, 4, 1]);
            bench.advance(985);
            assert_eq!(bench.ids().await, [3], "4 and 1 ended at now + 995");
            bench.drop_index(number).await;
            bench.advance(1_000_000);
            assert_eq!(bench.ids().await, [3]);
            assert_eq!(bench.purge().await, 3);
            assert_eq!(bench.ids().await, [3]);
            assert!(
                bench.look().await.1.indexes.date_rules().all().is_empty(),
                "nothing left to bury"
            );
        })
        .await;
    });
}

#[test]
fn a_longer_life_revives_nobody_and_a_shorter_one_ends_at_once() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            let (number, _) = bench.create(date_index("d", "date", 10)).await;
            bench.put(dated(1, now - 10_000)).await.unwrap();
            bench.put(dated(2, now - 9_999)).await.unwrap();
            bench.put(dated(3, now)).await.unwrap();
            assert_eq!(bench.ids().await, [2, 3]);
            bench.expire_after(number, 100).await;
            assert_eq!(bench.ids().await, [2, 3]);
            // As old as the dead one, but written under the longer life.
            bench.put(dated(4, now - 10_000)).await.unwrap();
            bench.put(dated(1, now - 50_000)).await.unwrap();
            assert_eq!(bench.ids().await, [2, 3, 4, 1]);
            bench.restart().await;
            bench.advance(60_000);
            assert_eq!(bench.ids().await, [2, 3, 4]);
            bench.expire_after(number, 60).await;
            assert_eq!(bench.ids().await, [0; 0]);
            bench.expire_after(number, 100_000).await;
            assert_eq!(bench.ids().await, [0; 0]);
            bench.put(dated(5, now - 10_000)).await.unwrap();
            assert_eq!(bench.ids().await, [5]);
            bench.advance(1000);
            assert_eq!(bench.purge().await, 4);
            assert_eq!(bench.purge().await, 0);
            let (_, collection) = bench.look().await;
            let index = collection.indexes.named("d").unwrap();
            assert_eq!(index.dates.len(), 1, "old numbers are forgotten");
        })
        .await;
    });
}

#[test]
fn a_partial_index_ends_only_what_its_filter_holds() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            let definition = IndexDefinition {
                filter: Some(object(r#"{"done":true}"#)),
                ..date_index("d", "date", 0)
            };
            bench
                .put(with(dated(1, now), "done", Value::Bool(true)))
                .await
                .unwrap();
            bench.put(dated(2, now)).await.unwrap();
            bench.create(definition).await;
            assert_eq!(bench.ids().await, [2]);
            bench
                .put(with(dated(3, now), "done", Value::Bool(false)))
                .await
                .unwrap();
            bench.restart().await;
            bench
                .put(with(dated(4, now), "done", Value::Bool(true)))
                .await
                .unwrap();
            assert_eq!(bench.ids().await, [2, 3]);
            bench
                .put(with(dated(3, now), "done", Value::Bool(true)))
                .await
                .unwrap();
            assert_eq!(bench.ids().await, [2]);
        })
        .await;
    });
}

#[test]
fn until_it_is_built_a_date_index_ends_nobody() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            bench.put(dated(1, now)).await.unwrap();
            let number = bench.begin(date_index("d", "date", 0)).await;
            bench.put(dated(2, now)).await.unwrap();
            assert_eq!(bench.ids().await, [1, 2]);
            bench.restart().await;
            assert_eq!(bench.ids().await, [1, 2]);
            bench
                .store()
                .build_named_index(bench::CID, number)
                .await
                .unwrap();
            assert_eq!(bench.ids().await, [0; 0]);
            assert_eq!(bench.purge().await, 2);
        })
        .await;
    });
}

#[test]
fn an_index_that_begins_to_end_documents_is_built_for_it() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            bench.put(dated(1, now)).await.unwrap();
            let (number, _) = bench.create(bench::index("d", r#"{"date":1}"#)).await;
            bench.expire_after(number, 5).await;
            let (_, collection) = bench.look().await;
            assert!(collection.indexes.named("d").unwrap().is_usable());
            bench.advance(5000);
            assert_eq!(bench.ids().await, [1], "not yet");
            bench
                .store()
                .build_named_index(bench::CID, number)
                .await
                .unwrap();
            assert_eq!(bench.ids().await, [0; 0]);
        })
        .await;
    });
}

/// The kinds of all events since a place in the log.
async fn told(bench: &Bench, begun: u64) -> Vec<EventKind> {
    let (store, cid) = (bench.store(), bench.look().await.1.cid);
    store.tell_expiries(cid, u64::MAX).await.unwrap();
    let view = store.view().await.unwrap();
    let collection = view.catalog().collection_numbered(cid).unwrap();
    assert!(!view.expiries_due(collection).await.unwrap());
    let source = Source::Items(collection, &ItemRange::Everything);
    let limits = ChangeLimits {
        items_max: 100,
        bytes_max: usize::MAX,
        entries_max: u64::MAX,
    };
    let begun = EventPlace::end_of(begun);
    match view.events(&[source], begun, limits).await.unwrap() {
        Events::Page(page) => page.events.iter().map(|event| event.kind).collect(),
        Events::Forgotten => panic!("it is kept"),
    }
}

#[test]
fn what_is_written_dead_and_written_again_is_told_twice() {
    lapsedb_testkit::run(async {
        use EventKind::{Create, Expire, Replace};
        everywhere(async |bench: &mut Bench| {
            bench.create(date_index("d", "date", 0)).await;
            let cid = bench.look().await.1.cid;
            bench.store().keep_versions(cid).await.unwrap();
            let (now, begun) = (bench.now(), bench.store().view().await.unwrap().lsn());
            let dead = || dated(1, now - 60_000);
            bench.put_all(vec![dead(), dead()]).await;
            assert_eq!(told(bench, begun).await, [Create, Expire, Create, Expire]);
            bench.put_all(vec![dead(), dated(1, now + 60_000)]).await;
            let wanted = [Create, Expire, Create, Expire, Create, Expire, Create];
            assert_eq!(told(bench, begun).await, wanted);
            bench.put_all(vec![dead(), dated(1, now + 70_000)]).await;
            assert_eq!(
                told(bench, begun).await.get(7..).unwrap(),
                [Replace, Expire, Create]
            );
            assert_eq!(bench.ids().await, [1]);
        })
        .await;
    });
}

#[test]
fn what_a_date_has_ended_is_told_once_to_who_follows() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            bench.create(date_index("d", "date", 1)).await;
            let cid = bench.look().await.1.cid;
            bench.store().keep_versions(cid).await.unwrap();
            let now = bench.now();
            let begun = bench.store().view().await.unwrap().lsn();
            bench.put(dated(1, now)).await.unwrap();
            bench.put(dated(2, now + 60_000)).await.unwrap();
            bench.advance(2000);
            // A date of the past ends a document as it is written; it is told all the same.
            bench.put(dated(3, now - 60_000)).await.unwrap();
            bench.restart().await;
            use EventKind::{Create, Expire};
            assert_eq!(
                told(bench, begun).await,
                [Create, Create, Create, Expire, Expire]
            );
            bench.purge().await;
            assert_eq!(told(bench, begun).await.len(), 5, "once");
            bench.advance(60_000);
            bench.put(dated(2, now + 600_000)).await.unwrap();
            let wanted = [Create, Create, Create, Expire, Expire, Expire, Create];
            assert_eq!(
                told(bench, begun).await,
                wanted,
                "before its id is used again"
            );
        })
        .await;
    });
}
