//! Named indexes: entries in the order of BSON, one per element of an array; unique values held by the living alone.

use crate::bench::{self, Bench, date_index, dated, index, object, value};
use lapsedb_store::index::bson_key::{Part, prefix};
use lapsedb_store::index::scan::EntrySpan;
use lapsedb_store::{Built, IndexDefinition, Place, Refused, Unindexable};
use lapsedb_value::{Object, Value, json};
use tempfile::TempDir;

async fn everywhere(story: impl AsyncFn(&mut Bench)) {
    story(&mut Bench::new(Place::Memory).await).await;
    let folder = TempDir::new().unwrap();
    let place = Place::Disk(folder.path().to_path_buf());
    story(&mut Bench::new(place).await).await;
}

fn unique(definition: IndexDefinition) -> IndexDefinition {
    IndexDefinition {
        unique: true,
        ..definition
    }
}

/// The ids behind an index's entries, in their order.
async fn entries(bench: &Bench, name: &str, low: &[u8], high: &[u8]) -> Vec<i64> {
    let (view, collection) = bench.look().await;
    let index = collection.indexes.named(name).unwrap();
    let span = EntrySpan::named(&collection, index, low, high);
    let page = view.entries(&collection, span, false, 1000).await.unwrap();
    let keys: Vec<_> = page.entries.into_iter().map(|entry| entry.item).collect();
    let items = view.items(&collection, &keys).await.unwrap();
    items
        .into_iter()
        .map(|item| {
            let document = lapsedb_value::bson::read_document(item.unwrap().body()).unwrap();
            document.get("_id").and_then(Value::as_i64).unwrap()
        })
        .collect()
}

/// What E11000 says of a refused write.
fn duplicate(refused: Result<(), Refused>) -> (String, String, String) {
    match refused.unwrap_err() {
        Refused::Duplicate(duplicate) => (
            duplicate.index.to_string(),
            json::to_string(&Value::Object(duplicate.pattern)),
            json::to_string(&Value::Object(duplicate.values)),
        ),
        other => panic!("{other:?}"),
    }
}

#[test]
fn entries_lie_in_the_order_of_their_values() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            for document in [
                r#"{"_id":1,"a":2,"b":1}"#,
                r#"{"_id":2,"a":"x","b":1}"#,
                r#"{"_id":3,"b":5}"#,
                r#"{"_id":4,"a":2.5}"#,
            ] {
                bench.put(object(document)).await.unwrap();
            }
            bench.create(index("up", r#"{"a":1,"b":-1}"#)).await;
            bench.create(index("down", r#"{"a":-1,"b":1}"#)).await;
            bench.put(object(r#"{"_id":5,"a":2,"b":9}"#)).await.unwrap();
            bench.put(object(r#"{"_id":6,"a":[]}"#)).await.unwrap();
            assert_eq!(entries(bench, "up", &[], &[]).await, [6, 3, 5, 1, 4, 2]);
            assert_eq!(entries(bench, "down", &[], &[]).await, [2, 4, 1, 5, 3, 6]);
            let two = value("2");
            for (name, descending, expected) in [("up", false, [5, 1]), ("down", true, [1, 5])] {
                let begin = prefix(Part::Value(&two), descending);
                assert_eq!(entries(bench, name, &begin, &begin).await, expected);
            }
            bench.put(object(r#"{"_id":5,"a":0}"#)).await.unwrap();
            bench.delete(1).await;
            assert_eq!(entries(bench, "up", &[], &[]).await, [6, 3, 5, 4, 2]);
        })
        .await;
    });
}

#[test]
fn an_array_has_an_entry_for_each_element() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            bench.create(index("a", r#"{"a":1}"#)).await;
            bench
                .create(index("ab", r#"{"l.x":1,"l.y":1,"z":1}"#))
                .await;
            let (view, collection) = bench.look().await;
            let number = collection.indexes.named("a").unwrap().number;
            assert!(
                !view
                    .index_notes(&collection, number)
                    .await
                    .unwrap()
                    .multikey
            );
            bench
                .put(object(r#"{"_id":1,"a":[3,1,3,[0]]}"#))
                .await
                .unwrap();
            bench.put(object(r#"{"_id":2,"a":2}"#)).await.unwrap();
            assert_eq!(entries(bench, "a", &[], &[]).await, [1, 2, 1, 1]);
            let (view, _) = bench.look().await;
            assert!(
                view.index_notes(&collection, number)
                    .await
                    .unwrap()
                    .multikey
            );
            // Fields below one array go through it together.
            let document = r#"{"_id":3,"l":[{"x":1,"y":2},{"x":3},7],"z":0}"#;
            bench.put(object(document)).await.unwrap();
            assert_eq!(entries(bench, "ab", &[], &[]).await, [1, 2, 3, 3, 3]);
            bench.put(object(r#"{"_id":1,"a":5}"#)).await.unwrap();
            assert_eq!(entries(bench, "a", &[], &[]).await, [3, 2, 1]);
        })
        .await;
    });
}

#[test]
fn parallel_arrays_are_refused_by_writes_and_by_builds() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            bench.create(index("ab", r#"{"a":1,"b":1}"#)).await;
            let both = object(r#"{"_id":1,"a":[1],"b":[2]}"#);
            let refused = bench.put(both.clone()).await.unwrap_err();
            let Refused::Unindexable(Unindexable::ParallelArrays { one, other, .. }) = refused
            else {
                panic!("{refused:?}");
            };
            assert_eq!((one.as_str(), other.as_str()), ("a", "b"));
            let (_, collection) = bench.look().await;
            bench
                .drop_index(collection.indexes.named("ab").unwrap().number)
                .await;
            bench.put(both).await.unwrap();
            let (_, built) = bench.create(index("ab", r#"{"a":1,"b":1}"#)).await;
            assert!(
                matches!(built, Built::Refused(Refused::Unindexable(_))),
                "{built:?}"
            );
            assert!(bench.look().await.1.indexes.named("ab").is_none());
        })
        .await;
    });
}

#[test]
fn an_array_of_which_a_path_names_an_element_is_an_array_too() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            bench.create(index("ab", r#"{"a":1,"b.0":1}"#)).await;
            let both = object(r#"{"_id":1,"a":[],"b":[7]}"#);
            let refused = bench.put(both).await.unwrap_err();
            assert!(
                matches!(
                    refused,
                    Refused::Unindexable(Unindexable::ParallelArrays { .. })
                ),
                "{refused:?}"
            );
            bench
                .put(object(r#"{"_id":2,"a":3,"b":[7,[8]]}"#))
                .await
                .unwrap();
            assert_eq!(entries(bench, "ab", &[], &[]).await, [2]);
        })
        .await;
    });
}

#[test]
fn unique_values_are_held_by_the_living() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let now = bench.now();
            bench
                .create(unique(index("u", r#"{"a.b":1,"c":-1}"#)))
                .await;
            bench.create(date_index("d", "date", 0)).await;
            let with = |id: i32, at: i64| {
                let mut document = dated(id, at);
                document.push("a", value(r#"[{"b":1},{"b":1}]"#));
                document
            };
            bench.put(with(1, now + 5)).await.unwrap();
            let said = duplicate(bench.put(with(2, now + 50)).await);
            let expected = ("u", r#"{"a.b":1,"c":-1}"#, r#"{"a.b":1,"c":null}"#);
            assert_eq!(
                (said.0.as_str(), said.1.as_str(), said.2.as_str()),
                expected
            );
            // Itself, and numbers of another kind that are the same.
            bench.put(with(1, now + 10)).await.unwrap();
            duplicate(bench.put(object(r#"{"_id":3,"a":{"b":1.0}}"#)).await);
            bench.restart().await;
            duplicate(bench.put(with(2, now + 50)).await);
            bench.advance(10);
            bench.put(with(2, now + 50)).await.unwrap();
            // The dead one's remains must not take away what the living one holds.
            assert_eq!(bench.purge().await, 1);
            duplicate(bench.put(with(4, now + 50)).await);
            bench.delete(2).await;
            bench.put(with(4, now + 50)).await.unwrap();
        })
        .await;
    });
}

#[test]
fn missing_is_null_unless_the_index_is_sparse_or_partial() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            let sparse = IndexDefinition {
                sparse: true,
                ..unique(index("s", r#"{"s":1}"#))
            };
            let partial = IndexDefinition {
                filter: Some(object(r#"{"on":true}"#)),
                ..unique(index("p", r#"{"p":1}"#))
            };
            bench.create(sparse).await;
            bench.create(partial).await;
            bench.put(object(r#"{"_id":1,"p":1}"#)).await.unwrap();
            bench.put(object(r#"{"_id":2,"p":1}"#)).await.unwrap();
            bench
                .put(object(r#"{"_id":3,"p":1,"on":true,"s":null}"#))
                .await
                .unwrap();
            assert_eq!(
                duplicate(bench.put(object(r#"{"_id":4,"p":1,"on":true}"#)).await).0,
                "p"
            );
            assert_eq!(
                duplicate(bench.put(object(r#"{"_id":4,"s":null}"#)).await).0,
                "s"
            );
            assert_eq!(entries(bench, "s", &[], &[]).await, [3]);
            assert_eq!(entries(bench, "p", &[], &[]).await, [3]);
            let (_, built) = bench.create(unique(index("u", r#"{"none":1}"#))).await;
            assert!(
                matches!(built, Built::Refused(Refused::Duplicate(_))),
                "{built:?}"
            );
        })
        .await;
    });
}

#[test]
fn a_build_over_duplicates_fails_and_leaves_no_index() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            for id in 0..250 {
                let document = format!(r#"{{"_id":{id},"a":{}}}"#, id % 249);
                bench.put(object(&document)).await.unwrap();
            }
            let (number, built) = bench.create(unique(index("u", r#"{"a":1}"#))).await;
            let Built::Refused(Refused::Duplicate(said)) = built else {
                panic!("{built:?}");
            };
            assert_eq!(json::to_string(&Value::Object(said.values)), r#"{"a":0}"#);
            let (_, collection) = bench.look().await;
            assert!(collection.indexes.all().is_empty());
            assert!(!collection.indexes.is_unfinished(), "its entries are swept");
            bench.put(object(r#"{"_id":300,"a":1}"#)).await.unwrap();
            bench.delete(249).await;
            bench.delete(300).await;
            let (again, built) = bench.create(unique(index("u", r#"{"a":1}"#))).await;
            assert!(
                matches!(built, Built::Whole { documents: 249, .. }),
                "{built:?}"
            );
            assert_ne!(again, number);
            duplicate(bench.put(object(r#"{"_id":300,"a":1}"#)).await);
        })
        .await;
    });
}

#[test]
fn a_unique_index_holds_from_its_creation_on() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            bench.put(object(r#"{"_id":1,"a":1}"#)).await.unwrap();
            let number = bench.begin(unique(index("u", r#"{"a":1}"#))).await;
            bench.put(object(r#"{"_id":2,"a":2}"#)).await.unwrap();
            duplicate(bench.put(object(r#"{"_id":3,"a":2}"#)).await);
            // Nobody has claimed this value yet; the build will find both.
            bench.put(object(r#"{"_id":3,"a":1}"#)).await.unwrap();
            // The one that was not built yet may go without taking the other's value along.
            bench.delete(1).await;
            duplicate(bench.put(object(r#"{"_id":4,"a":1}"#)).await);
            bench.restart().await;
            let built = bench.store().build_named_index(bench::CID, number).await;
            assert!(matches!(built, Ok(Built::Whole { .. })));
            assert_eq!(entries(bench, "u", &[], &[]).await, [3, 2]);
            duplicate(bench.put(object(r#"{"_id":4,"a":1}"#)).await);
        })
        .await;
    });
}

#[test]
fn a_number_in_a_path_is_a_place_or_a_name_and_never_both() {
    lapsedb_testkit::run(async {
        everywhere(async |bench: &mut Bench| {
            bench.create(index("i", r#"{"a.0":1}"#)).await;
            bench.put(object(r#"{"_id":1,"a":[5,4]}"#)).await.unwrap();
            bench.put(object(r#"{"_id":2,"a":{"0":3}}"#)).await.unwrap();
            assert_eq!(entries(bench, "i", &[], &[]).await, [2, 1]);
            let both: Object = object(r#"{"_id":3,"a":[{"0":1}]}"#);
            assert!(matches!(
                bench.put(both).await,
                Err(Refused::Unindexable(Unindexable::AmbiguousPath { .. }))
            ));
        })
        .await;
    });
}
