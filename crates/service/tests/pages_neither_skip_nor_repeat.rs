//! Between the pages of a query items are written, deleted and expire, and the server is started anew: what lives all the
//! while and stays as it is comes exactly once.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Bench, object, value};
use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::Selection;
use lapsedb_service::items::query::{Metrics, QueryPage, Request, Tuning, query_tuned};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::{PartitionKey, Place, collections};
use lapsedb_value::{Object, Value};

const ITEMS: u64 = 90;

/// A query, and whether an item is in its answer.
type Asked = (&'static str, fn(u64) -> bool);

/// Queries over the items' ids, with what an item must have to be in the answer.
const QUERIES: &[Asked] = &[
    ("SELECT VALUE c.id FROM c", |_| true),
    ("SELECT VALUE c.id FROM c WHERE c.pk = 'p1'", |i| i % 3 == 1),
    ("SELECT VALUE c.id FROM c WHERE c.s = 's2'", |i| i % 4 == 2),
    ("SELECT VALUE c.id FROM c WHERE c.n >= 3", |i| {
        i % 5 != 4 && i % 10 >= 3
    }),
    (
        "SELECT VALUE c.id FROM c WHERE c.s = 's1' OR c.n = 2",
        |i| i % 4 == 1 || (i % 5 != 4 && i % 10 == 2),
    ),
    ("SELECT VALUE c.id FROM c ORDER BY c.n", |_| true),
    ("SELECT VALUE c.id FROM c ORDER BY c.n DESC", |_| true),
    ("SELECT VALUE c.id FROM c ORDER BY c.long", |_| true),
    ("SELECT VALUE c.id FROM c ORDER BY c.long DESC", |_| true),
    ("SELECT VALUE c.id FROM c ORDER BY c.s, c.n DESC", |_| true),
    (
        "SELECT VALUE c.id FROM c WHERE c.s = 's1' ORDER BY c.n DESC",
        |i| i % 4 == 1,
    ),
    ("SELECT VALUE c.id FROM c ORDER BY c._ts", |_| true),
    ("SELECT DISTINCT VALUE c.id FROM c", |_| true),
    (
        "SELECT VALUE s.id FROM (SELECT DISTINCT c.id FROM c) s",
        |_| true,
    ),
    ("SELECT VALUE c.id FROM c GROUP BY c.id", |_| true),
];

fn body(i: u64, extra: &str) -> String {
    let n = if i % 5 == 4 {
        String::new()
    } else {
        format!(",\"n\":{}", i % 10)
    };
    let long = format!("{}{}", "y".repeat(260), i % 6);
    let p = i % 3;
    format!(
        "{{\"id\":\"i{i}\",\"pk\":\"p{p}\"{n},\"s\":\"s{}\",\"long\":\"{long}\"{extra}}}",
        i % 4
    )
}

async fn write(bench: &Bench, i: u64, action: Action) {
    let op = ItemOp {
        action,
        partition: Some(PartitionKey::parse(&format!("[\"p{}\"]", i % 3)).unwrap()),
        if_match: None,
        if_none_match: None,
        minimal: false,
    };
    let ran = items::run(&bench.ctx, ("db", "c"), None, &[op], Mode::Each)
        .await
        .unwrap();
    ran.results.into_iter().next().unwrap().unwrap();
}

async fn put(bench: &Bench, i: u64, extra: &str) {
    write(
        bench,
        i,
        Action::Upsert(Document::new(object(&body(i, extra))).unwrap()),
    )
    .await;
}

/// One change between two pages; items whose number is a multiple of three are left alone.
async fn disturb(bench: &Bench, turn: u64, next: &mut u64) {
    let victim = 3 * (turn % (ITEMS / 3)) + 1;
    match turn % 4 {
        0 => {
            // A new item anywhere in any order.
            put(bench, *next, "").await;
            *next += 1;
        }
        1 => {
            let id = format!("i{victim}");
            let op = ItemOp {
                action: Action::Delete { id },
                partition: Some(PartitionKey::parse(&format!("[\"p{}\"]", victim % 3)).unwrap()),
                if_match: None,
                if_none_match: None,
                minimal: false,
            };
            items::run(&bench.ctx, ("db", "c"), None, &[op], Mode::Each)
                .await
                .unwrap();
        }
        // Those written with a ttl of their own end one by one.
        2 => {
            bench.service.clock().advance(1000).unwrap();
        }
        _ => put(bench, victim + 1, ",\"more\":1").await,
    }
}

async fn opened(place: &Place) -> Bench {
    Bench::at(place.clone(), false).await
}

async fn fill(bench: &Bench) {
    bench.database("db").await;
    let definition = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":100000,
        "indexingPolicy":{"compositeIndexes":[[{"path":"/s"},{"path":"/n","order":"descending"}]]}}"#;
    collections::create(&bench.ctx, "db", &value(definition), None)
        .await
        .unwrap();
    for i in 0..ITEMS {
        // A third is left alone; of the others every second one ends within a minute.
        let ttl = if !i.is_multiple_of(3) && i.is_multiple_of(2) {
            format!(",\"ttl\":{}", 1 + i % 20)
        } else {
            String::new()
        };
        put(bench, i, &ttl).await;
    }
}

async fn told(place: Place, (text, wanted): Asked, tuning: &Tuning, size: usize, reopen: bool) {
    let mut bench = opened(&place).await;
    fill(&bench).await;
    let mut request_body = Object::new();
    request_body.push("query", text);
    let posted = Query::of_body(&Value::Object(request_body)).unwrap();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut token: Option<String> = None;
    let mut next = ITEMS;
    for turn in 0.. {
        let request = Request {
            selection: Selection::default(),
            items_max: Some(size),
            continuation: token.as_deref(),
            metrics: Metrics::default(),
        };
        let QueryPage {
            rows, continuation, ..
        } = query_tuned(&bench.ctx, ("db", "c"), None, &posted, request, tuning)
            .await
            .unwrap();
        for row in &rows {
            *seen.entry(row.as_str().unwrap().to_owned()).or_default() += 1;
        }
        match continuation {
            Some(next) => token = Some(next),
            None => break,
        }
        disturb(&bench, turn, &mut next).await;
        if reopen && turn.is_multiple_of(5) {
            bench.service.close().await.unwrap();
            drop(bench);
            bench = opened(&place).await;
        }
    }
    let left_alone: BTreeSet<String> = (0..ITEMS)
        .filter(|i| i.is_multiple_of(3) && wanted(*i))
        .map(|i| format!("i{i}"))
        .collect();
    for id in &left_alone {
        assert_eq!(seen.get(id), Some(&1), "{id} of {text} by {size}");
    }
    // What is sorted by its last write comes again when it is written again.
    if !text.contains("_ts") {
        let twice: Vec<_> = seen.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "{text} by {size}: {twice:?}");
    }
}

fn eager() -> Tuning {
    Tuning {
        probes: [0, 0, 0],
        sorted_set_max: 0,
        partition_set_max: 0,
        gathered_max: 0,
        gathered_unindexed_max: 0,
        ..Tuning::default()
    }
}

#[test]
fn while_items_come_and_go() {
    lapsedb_testkit::run(async {
        for query in QUERIES {
            for size in [1, 7] {
                told(Place::Memory, *query, &Tuning::default(), size, false).await;
                told(Place::Memory, *query, &eager(), size, false).await;
            }
        }
    });
}

#[test]
fn over_restarts() {
    lapsedb_testkit::run(async {
        for query in QUERIES {
            let folder = tempfile::tempdir().unwrap();
            let place = Place::Disk(folder.path().to_path_buf());
            told(place, *query, &Tuning::default(), 7, true).await;
        }
    });
}

/// Long values are cut in the index, so items with the same beginning wait for each other; one of another partition never comes.
#[test]
fn the_last_item_does_not_wait_for_one_of_another_partition() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        bench.database("db").await;
        let definition = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
        collections::create(&bench.ctx, "db", &value(definition), None)
            .await
            .unwrap();
        let long = "y".repeat(400);
        let put = async |id: &str, p: u64, text: &str| {
            let body = format!(r#"{{"id":"{id}","pk":"p{p}","s":"{text}"}}"#);
            let document = Document::new(object(&body)).unwrap();
            write(&bench, p, Action::Create(document)).await;
        };
        put("last", 0, &long).await;
        for i in 0..20 {
            put(&format!("other{i}"), 1, &long).await;
        }
        for count in 1..8 {
            put(&format!("i{count}"), 0, &format!("a{count}")).await;
            for size in 1..10 {
                for tuning in [Tuning::default(), eager()] {
                    let rows = in_order(&bench, size, &tuning).await;
                    let mut expected: Vec<String> = (1..=count).map(|i| format!("i{i}")).collect();
                    expected.push("last".to_owned());
                    assert_eq!(rows, expected, "pages of {size}");
                }
            }
        }
    });
}

/// The ids of one partition in the order of `s`, page by page.
async fn in_order(bench: &Bench, size: usize, tuning: &Tuning) -> Vec<String> {
    let mut body = Object::new();
    body.push("query", "SELECT VALUE c.id FROM c ORDER BY c.s");
    let posted = Query::of_body(&Value::Object(body)).unwrap();
    let (mut rows, mut token) = (Vec::new(), None::<String>);
    loop {
        let request = Request {
            selection: Selection {
                partition: Some(PartitionKey::parse("[\"p0\"]").unwrap()),
                ..Selection::default()
            },
            items_max: Some(size),
            continuation: token.as_deref(),
            metrics: Metrics::default(),
        };
        let page = query_tuned(&bench.ctx, ("db", "c"), None, &posted, request, tuning)
            .await
            .unwrap();
        rows.extend(page.rows.iter().map(|row| row.as_str().unwrap().to_owned()));
        token = page.continuation;
        if token.is_none() {
            return rows;
        }
    }
}
