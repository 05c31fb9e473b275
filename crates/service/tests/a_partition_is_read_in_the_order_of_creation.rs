//! Feeds and queries over a part of a collection give its items in the order of their creation, whatever their ids are, however
//! many there are, and however long a page is.

use crate::support::{Bench, object, value};
use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::{Paging, Selection, feed};
use lapsedb_service::items::query::{Metrics, QueryPage, Request, Tuning, query_tuned};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::{PartitionKey, collections};
use lapsedb_store::partition_key::EpkRange;
use lapsedb_value::{Object, Value, bson};

/// Items of the large partition: more than are read and sorted where an index has the order.
const MANY: u64 = 300;
/// Items of the small one.
const FEW: u64 = 20;

const HASH: &str = r#"{"id":"hash","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
const UNINDEXED: &str = r#"{"id":"unindexed","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
    "indexingPolicy":{"indexingMode":"none"}}"#;
const LEVELS: &str =
    r#"{"id":"levels","partitionKey":{"paths":["/pk","/sub"],"kind":"MultiHash","version":2}}"#;

/// Which numbers a reader expects, in order.
type Expected = fn(&(u64, &str)) -> bool;

/// The partition an item is written to: every item of the large partition is followed by some of others.
fn partition(n: u64) -> &'static str {
    match n % 3 {
        0 if n / 3 < FEW => "few",
        1 => "many",
        _ => "other",
    }
}

async fn filled(definition: &str) -> (Bench, Vec<(u64, &'static str)>) {
    let bench = Bench::at(lapsedb_service::Place::Memory, false).await;
    bench.database("db").await;
    let definition = value(definition);
    let id = definition.get("id").as_str().unwrap().to_owned();
    collections::create(&bench.ctx, "db", &definition, None)
        .await
        .unwrap();
    let mut created = Vec::new();
    for n in 0..3 * MANY {
        let pk = partition(n);
        // An order of ids that has nothing to do with that of creation.
        let name = format!("{:03}", n * 577 % 911);
        let body = format!(r#"{{"id":"{name}","pk":"{pk}","sub":"{}","n":{n}}}"#, n % 2);
        let levels = match id.as_str() {
            "levels" => format!(r#"["{pk}","{}"]"#, n % 2),
            _ => format!(r#"["{pk}"]"#),
        };
        let op = ItemOp {
            action: Action::Create(Document::new(object(&body)).unwrap()),
            partition: Some(PartitionKey::parse(&levels).unwrap()),
            if_match: None,
            if_none_match: None,
            minimal: false,
        };
        let ran = items::run(&bench.ctx, ("db", &id), None, &[op], Mode::Each)
            .await
            .unwrap();
        ran.results.into_iter().next().unwrap().unwrap();
        created.push((n, pk));
    }
    (bench, created)
}

async fn by_feed(bench: &Bench, id: &str, selection: &Selection, size: usize) -> Vec<u64> {
    let mut paging = Paging {
        items_max: Some(size),
        resume: None,
    };
    let mut read = Vec::new();
    loop {
        let page = feed(&bench.ctx, ("db", id), None, selection, &paging)
            .await
            .unwrap();
        assert!(page.items.len() <= size);
        for (_, item) in &page.items {
            let document = bson::read_document(item.body()).unwrap();
            read.push(number(document.get("n").unwrap()));
        }
        paging.resume = page.resume;
        if paging.resume.is_none() {
            return read;
        }
    }
}

async fn by_query(
    bench: &Bench,
    id: &str,
    selection: &Selection,
    text: &str,
    (size, tuning): (usize, &Tuning),
) -> Vec<u64> {
    let mut body = Object::new();
    body.push("query", text);
    let query = Query::of_body(&Value::Object(body)).unwrap();
    let mut token: Option<String> = None;
    let mut read = Vec::new();
    loop {
        let request = Request {
            selection: selection.clone(),
            items_max: Some(size),
            continuation: token.as_deref(),
            metrics: Metrics::default(),
        };
        let QueryPage {
            rows, continuation, ..
        } = query_tuned(&bench.ctx, ("db", id), None, &query, request, tuning)
            .await
            .unwrap();
        read.extend(rows.iter().map(number));
        match continuation {
            Some(next) => token = Some(next),
            None => return read,
        }
    }
}

fn number(value: &Value) -> u64 {
    value.as_i64().unwrap().cast_unsigned()
}

fn of_key(key: &str) -> Selection {
    Selection {
        partition: Some(PartitionKey::parse(key).unwrap()),
        ..Selection::default()
    }
}

fn tunings() -> [Tuning; 2] {
    let usual = Tuning::default();
    // Every range of items that has an index is read by it.
    let eager = Tuning {
        gathered_max: 0,
        ..usual
    };
    [usual, eager]
}

async fn all_ways(definition: &str, id: &str, selections: &[(Selection, Expected)]) {
    let (bench, created) = filled(definition).await;
    for (selection, expected) in selections {
        let wanted: Vec<u64> = created
            .iter()
            .filter(|item| expected(item))
            .map(|(n, _)| *n)
            .collect();
        assert!(!wanted.is_empty());
        for size in [7, 100, 1000] {
            let read = by_feed(&bench, id, selection, size).await;
            assert_eq!(read, wanted, "feed of {selection:?} by {size}");
            for tuning in &tunings() {
                let text = "SELECT VALUE c.n FROM c";
                let read = by_query(&bench, id, selection, text, (size, tuning)).await;
                assert_eq!(read, wanted, "query of {selection:?} by {size}");
                let text = "SELECT VALUE c.n FROM c WHERE c.n >= 0 OFFSET 3 LIMIT 9";
                let read = by_query(&bench, id, selection, text, (size, tuning)).await;
                assert_eq!(read, wanted[3..12], "window of {selection:?} by {size}");
            }
        }
    }
}

#[test]
fn by_the_index_of_the_partition_key() {
    lapsedb_testkit::run(async {
        all_ways(
            HASH,
            "hash",
            &[
                (of_key(r#"["many"]"#), |(_, pk)| *pk == "many"),
                (of_key(r#"["few"]"#), |(_, pk)| *pk == "few"),
            ],
        )
        .await;
    });
}

#[test]
fn without_an_index() {
    lapsedb_testkit::run(async {
        all_ways(
            UNINDEXED,
            "unindexed",
            &[
                (of_key(r#"["many"]"#), |(_, pk)| *pk == "many"),
                (of_key(r#"["few"]"#), |(_, pk)| *pk == "few"),
            ],
        )
        .await;
    });
}

#[test]
fn under_the_first_levels_of_a_hierarchical_key() {
    lapsedb_testkit::run(async {
        all_ways(
            LEVELS,
            "levels",
            &[
                (of_key(r#"["many"]"#), |(_, pk)| *pk == "many"),
                (of_key(r#"["many","1"]"#), |(n, pk)| {
                    *pk == "many" && n % 2 == 1
                }),
                (of_key(r#"["few"]"#), |(_, pk)| *pk == "few"),
            ],
        )
        .await;
    });
}

#[test]
fn where_the_filter_names_the_partitions() {
    lapsedb_testkit::run(async {
        let (bench, created) = filled(HASH).await;
        let everywhere = Selection::default();
        let expected: [(&str, Expected); 3] = [
            ("SELECT VALUE c.n FROM c WHERE c.pk = 'many'", |(_, pk)| {
                *pk == "many"
            }),
            (
                "SELECT VALUE c.n FROM c WHERE c.pk IN ('many', 'few')",
                |(_, pk)| *pk != "other",
            ),
            (
                "SELECT TOP 5 VALUE c.n FROM c WHERE c.pk = 'many'",
                |(n, pk)| *pk == "many" && *n < 15,
            ),
        ];
        for (text, expected) in expected {
            let created = created.iter().filter(|item| expected(item));
            let wanted: Vec<u64> = created.map(|(n, _)| *n).collect();
            for tuning in &tunings() {
                let read = by_query(&bench, "hash", &everywhere, text, (11, tuning)).await;
                assert_eq!(read, wanted, "{text}");
            }
        }
    });
}

#[test]
fn in_a_range_of_hashes() {
    lapsedb_testkit::run(async {
        let (bench, _) = filled(LEVELS).await;
        let half = |min: &str, max: &str| Selection {
            epk: Some(EpkRange::parse(min, max).unwrap()),
            ..Selection::default()
        };
        let halves = [half("", "20"), half("20", "FF")];
        let mut all = Vec::new();
        for selection in &halves {
            let read = by_feed(&bench, "levels", selection, 13).await;
            assert!(read.is_sorted(), "{read:?}");
            for tuning in &tunings() {
                let text = "SELECT VALUE c.n FROM c";
                let rows = by_query(&bench, "levels", selection, text, (13, tuning)).await;
                assert_eq!(rows, read);
            }
            all.extend(read);
        }
        all.sort_unstable();
        assert_eq!(all, (0..3 * MANY).collect::<Vec<_>>());
    });
}
