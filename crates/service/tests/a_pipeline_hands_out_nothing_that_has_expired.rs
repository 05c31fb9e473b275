//! Stages hold documents back from one batch of a cursor to the next. What has expired meanwhile is in no later batch, in whichever
//! form; what is live is in one of them.

use std::collections::BTreeSet;

use lapsedb_service::cursors::Batch;
use lapsedb_service::documents::{self, Find, IndexChange, Work};
use lapsedb_value::{Object, Value};

use crate::support::mongo::{Client, collection, read};
use crate::support::{Bench, object, value};

const DOCUMENTS: usize = 24;
const LIFE_MS: u64 = 5000;
/// A mortal document that is written again before it expires.
const RENEWED: usize = 21;

/// Pipelines over `c`, which has documents with even numbers that stay and with odd ones that do not. Each document says its
/// mark, `m<number>;`, in `s` and three times in `a`. Of those with `true`, each mark comes once.
const PIPELINES: [(&str, bool); 21] = [
    (r#"[{"$match":{}}]"#, false),
    (r#"[{"$project":{"_id":0,"s":1}}]"#, true),
    (r#"[{"$project":{"_id":0,"s":1}},{"$sort":{"s":1}}]"#, true),
    (r#"[{"$sort":{"n":-1}},{"$project":{"_id":0,"s":1}}]"#, true),
    (
        r#"[{"$sort":{"n":1}},{"$addFields":{"t":{"$concat":["$s","!"]}}}]"#,
        false,
    ),
    (r#"[{"$sample":{"size":24}},{"$project":{"s":1}}]"#, true),
    (r#"[{"$unwind":"$a"},{"$project":{"_id":0,"a":1}}]"#, false),
    (r#"[{"$sort":{"n":1}},{"$unwind":"$a"}]"#, false),
    (
        r#"[{"$group":{"_id":"$g","docs":{"$push":"$$ROOT"}}}]"#,
        false,
    ),
    (
        r#"[{"$group":{"_id":"$g","docs":{"$push":"$$ROOT"}}},{"$sort":{"_id":-1}},{"$project":{"_id":0,"docs.s":1}}]"#,
        false,
    ),
    (
        r#"[{"$group":{"_id":null,"docs":{"$push":"$$ROOT"}}},{"$unwind":"$docs"},{"$replaceRoot":{"newRoot":"$docs"}},{"$project":{"s":1}}]"#,
        true,
    ),
    (
        r#"[{"$group":{"_id":"$g","all":{"$addToSet":"$s"},"first":{"$first":"$s"},"last":{"$max":"$s"}}}]"#,
        false,
    ),
    (r#"[{"$sortByCount":"$s"}]"#, true),
    (
        r#"[{"$facet":{"f":[{"$sort":{"n":1}},{"$project":{"s":1}}]}},{"$unwind":"$f"}]"#,
        true,
    ),
    (
        r#"[{"$setWindowFields":{"sortBy":{"n":1},"output":{"p":{"$push":"$s","window":{"documents":["unbounded","current"]}}}}}]"#,
        false,
    ),
    (
        r#"[{"$lookup":{"from":"c","localField":"g","foreignField":"g","as":"x"}},{"$unwind":"$x"},{"$project":{"x.s":1,"s":1}}]"#,
        false,
    ),
    (
        r#"[{"$match":{"n":{"$mod":[2,0]}}},{"$lookup":{"from":"c","localField":"g","foreignField":"g","as":"x"}},{"$sort":{"n":1}}]"#,
        false,
    ),
    (
        r#"[{"$match":{"n":{"$lt":2}}},{"$lookup":{"from":"c","pipeline":[{"$project":{"s":1}}],"as":"x"}},{"$unwind":"$x"},{"$project":{"x.s":1}}]"#,
        false,
    ),
    (
        r#"[{"$match":{"n":{"$lt":2}}},{"$graphLookup":{"from":"c","startWith":"$k","connectFromField":"k","connectToField":"k","as":"x"}},{"$unwind":"$x"}]"#,
        false,
    ),
    (
        r#"[{"$match":{"n":-1}},{"$unionWith":"c"},{"$project":{"s":1}}]"#,
        true,
    ),
    (
        r#"[{"$match":{"n":-1}},{"$unionWith":"v"},{"$sort":{"n":1}},{"$project":{"s":1}}]"#,
        true,
    ),
];

/// How the odd ones expire.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    OwnTtl,
    Date,
    /// By a default that is shortened meanwhile.
    Change,
    /// By being the first to go of a collection without a default, of which TTL is switched on meanwhile.
    Switch,
}

const KINDS: [By; 4] = [By::OwnTtl, By::Date, By::Change, By::Switch];

fn document(kind: By, at: usize, now: u64) -> Object {
    let (g, s) = (at % 7, format!("m{at};"));
    let mut document = object(&format!(
        r#"{{"_id":{at},"n":{at},"k":1,"g":{g},"s":"{s}","a":["{s}","{s}","{s}"]}}"#
    ));
    let odd = at % 2 == 1;
    match kind {
        By::OwnTtl | By::Switch if odd => document.push("ttl", 5),
        By::Date if odd => {
            let end = i64::try_from(now + LIFE_MS).unwrap();
            document.push("d", Value::Date(end));
        }
        By::Change | By::Switch if !odd => document.push("ttl", -1),
        By::OwnTtl | By::Date | By::Change | By::Switch => {}
    }
    document
}

async fn filled(kind: By) -> Bench {
    let bench = Bench::new().await;
    bench.at_a_second();
    let mut client = Client::new(&bench, 1);
    match kind {
        By::OwnTtl => {
            client
                .indexes(
                    "c",
                    &[r#"{"key":{"_ts":1},"name":"t","expireAfterSeconds":-1}"#],
                )
                .await
        }
        By::Date => {
            client
                .indexes(
                    "c",
                    &[r#"{"key":{"d":1},"name":"t","expireAfterSeconds":0}"#],
                )
                .await
        }
        By::Change => {
            client
                .indexes(
                    "c",
                    &[r#"{"key":{"_ts":1},"name":"t","expireAfterSeconds":1000}"#],
                )
                .await
        }
        By::Switch => {}
    }
    let now = bench.service.clock().now().0;
    for at in 0..DOCUMENTS {
        client.insert("c", document(kind, at, now)).await.unwrap();
    }
    let mut work = Work::new(bench.ctx.clone());
    let view = object(r#"{"viewOn":"c","pipeline":[{"$match":{"k":1}}]}"#);
    documents::create(&mut work, &collection("v"), &view)
        .await
        .unwrap();
    bench
}

/// Lets the odd ones expire, but for the one that is written again before.
async fn pass(bench: &Bench, kind: By) {
    let mut client = Client::new(bench, 3);
    bench.service.clock().advance(LIFE_MS - 1000).unwrap();
    let renewed = format!(r#"{{"_id":{RENEWED}}}"#);
    let update = value(r#"{"$set":{"renewed":true},"$unset":{"d":1}}"#);
    client.update("c", &renewed, update).await.unwrap();
    bench.service.clock().advance(1000).unwrap();
    let mut work = Work::new(bench.ctx.clone());
    match kind {
        By::OwnTtl | By::Date => {}
        By::Change => {
            let change = IndexChange {
                name: Some("t".to_owned()),
                key: None,
                expire_after: Some(Value::Int32(5)),
                hidden: None,
            };
            documents::change_index(&mut work, &collection("c"), &change)
                .await
                .unwrap();
        }
        By::Switch => {
            client
                .indexes(
                    "c",
                    &[r#"{"key":{"_ts":1},"name":"t","expireAfterSeconds":-1}"#],
                )
                .await;
        }
    }
}

/// The marks in some documents, one by one.
fn marks(batch: &Batch) -> Vec<usize> {
    let mut found = Vec::new();
    for document in read(batch) {
        let text = Value::Object(document).to_string();
        let parts = text.split('m').skip(1);
        found.extend(parts.filter_map(|part| part.split_once(';')?.0.parse::<usize>().ok()));
    }
    found
}

fn check(text: &str, (before, after): (Vec<usize>, Vec<usize>), renewed: bool, once: bool) {
    let is_live = |at: usize| at.is_multiple_of(2) || (renewed && at == RENEWED);
    let expired: Vec<_> = after.iter().filter(|at| !is_live(**at)).collect();
    assert!(
        expired.is_empty(),
        "{text}: handed out after their end: {expired:?}"
    );
    let all: Vec<usize> = before.into_iter().chain(after).collect();
    let distinct: BTreeSet<usize> = all.iter().copied().collect();
    let living: BTreeSet<usize> = (0..DOCUMENTS).filter(|at| is_live(*at)).collect();
    let missed: Vec<_> = living.difference(&distinct).collect();
    assert!(missed.is_empty(), "{text}: missed {missed:?}");
    assert!(
        !once || all.len() == distinct.len(),
        "{text}: twice in {all:?}"
    );
}

#[test]
fn between_two_batches() {
    lapsedb_testkit::run(async {
        for kind in KINDS {
            for (pipeline, once) in PIPELINES {
                let bench = filled(kind).await;
                let mut client = Client::new(&bench, 1);
                let first = client.aggregate("c", pipeline, Some(2)).await.unwrap();
                assert_ne!(first.cursor, 0, "{pipeline}");
                pass(&bench, kind).await;
                let (mut cursor, mut after) = (first.cursor, Vec::new());
                while cursor != 0 {
                    let batch = client.more("c", cursor, Some(3)).await.unwrap();
                    after.extend(marks(&batch));
                    cursor = batch.cursor;
                }
                check(
                    &format!("{kind:?} {pipeline}"),
                    (marks(&first), after),
                    true,
                    once,
                );
            }
        }
    });
}

#[test]
fn between_two_batches_of_a_transaction() {
    lapsedb_testkit::run(async {
        for kind in [By::OwnTtl, By::Date] {
            for (pipeline, once) in PIPELINES {
                let bench = filled(kind).await;
                let mut client = Client::new(&bench, 1);
                client.start();
                let first = client.aggregate("c", pipeline, Some(2)).await.unwrap();
                pass(&bench, kind).await;
                let (mut cursor, mut after) = (first.cursor, Vec::new());
                while cursor != 0 {
                    let batch = client.more("c", cursor, Some(3)).await.unwrap();
                    after.extend(marks(&batch));
                    cursor = batch.cursor;
                }
                // The transaction does not see what others have written since.
                check(
                    &format!("{kind:?} {pipeline}"),
                    (marks(&first), after),
                    false,
                    once,
                );
            }
        }
    });
}

#[test]
fn a_first_batch_that_comes_late_is_of_its_own_time() {
    lapsedb_testkit::run(async {
        for pipeline in [
            r#"[{"$count":"n"}]"#,
            r#"[{"$match":{"k":1}},{"$count":"n"}]"#,
            r#"[{"$group":{"_id":null,"n":{"$sum":1}}}]"#,
            r#"[{"$sort":{"n":1}},{"$group":{"_id":"$k","n":{"$sum":1}}}]"#,
        ] {
            let bench = filled(By::OwnTtl).await;
            let mut client = Client::new(&bench, 1);
            let opened = client.aggregate("c", pipeline, Some(0)).await.unwrap();
            pass(&bench, By::OwnTtl).await;
            let batch = client.more("c", opened.cursor, None).await.unwrap();
            let n = read(&batch).first().and_then(|row| row.get("n")?.as_i64());
            assert_eq!(n, Some(13), "{pipeline}");
        }
    });
}

#[test]
fn a_sorted_find_is_judged_when_it_leaves() {
    lapsedb_testkit::run(async {
        for first in [0, 2] {
            for transaction in [false, true] {
                let bench = filled(By::OwnTtl).await;
                let mut client = Client::new(&bench, 1);
                if transaction {
                    client.start();
                    // Only the transaction has it.
                    client
                        .insert("c", document(By::OwnTtl, DOCUMENTS, 0))
                        .await
                        .unwrap();
                }
                let find = Find {
                    sort: object(r#"{"n":1}"#),
                    projection: object(r#"{"s":1}"#),
                    batch_size: Some(first),
                    ..Find::default()
                };
                let opened = client.first("c", &find).await.unwrap();
                pass(&bench, By::OwnTtl).await;
                let rest = client.more("c", opened.cursor, None).await.unwrap();
                let after = marks(&rest);
                assert_eq!(after.contains(&DOCUMENTS), transaction);
                let text = format!("{first} {transaction}");
                check(&text, (marks(&opened), after), !transaction, true);
            }
        }
    });
}

#[test]
fn a_count_in_a_later_batch_is_of_its_time_and_a_limit_holds() {
    lapsedb_testkit::run(async {
        let bench = filled(By::OwnTtl).await;
        let mut client = Client::new(&bench, 1);
        let groups = r#"[{"$group":{"_id":"$g","n":{"$sum":1}}},{"$sort":{"_id":1}}]"#;
        let first = client.aggregate("c", groups, Some(2)).await.unwrap();
        let limited = r#"[{"$group":{"_id":"$n"}},{"$sort":{"_id":1}},{"$limit":10}]"#;
        let ten = client.aggregate("c", limited, Some(5)).await.unwrap();
        pass(&bench, By::OwnTtl).await;
        let rest = client.more("c", first.cursor, None).await.unwrap();
        let number = |row: &Object, name: &str| row.get(name).and_then(Value::as_i64).unwrap();
        let counts: Vec<_> = read(&rest)
            .iter()
            .map(|row| (number(row, "_id"), number(row, "n")))
            .collect();
        // Even numbers below 24 with each rest by 7; 21 is written again, and its rest is 0, which was handed out before.
        assert_eq!(counts, [(2, 2), (3, 1), (4, 2), (5, 1), (6, 2)]);
        let more = client.more("c", ten.cursor, None).await.unwrap();
        let ids: Vec<_> = read(&more).iter().map(|row| number(row, "_id")).collect();
        assert_eq!((ids, more.cursor), (vec![6, 8, 10, 12, 14], 0));
    });
}

#[test]
fn buckets_that_depend_on_all_documents_are_not_mixed_with_others() {
    lapsedb_testkit::run(async {
        let buckets =
            r#"[{"$bucketAuto":{"groupBy":"$n","buckets":8,"output":{"docs":{"$push":"$s"}}}}]"#;
        for expires in [false, true] {
            let bench = filled(By::OwnTtl).await;
            let mut client = Client::new(&bench, 1);
            let first = client.aggregate("c", buckets, Some(2)).await.unwrap();
            if expires {
                pass(&bench, By::OwnTtl).await;
            }
            let rest = client.more("c", first.cursor, None).await;
            let rest = rest.map(|batch| marks(&batch).len());
            assert_eq!(rest, if expires { Err(175) } else { Ok(18) });
        }
    });
}

#[test]
fn a_document_that_is_dropped_with_its_collection_is_handed_out_no_more() {
    lapsedb_testkit::run(async {
        for (pipeline, _) in PIPELINES {
            let bench = filled(By::OwnTtl).await;
            let mut client = Client::new(&bench, 1);
            let first = client.aggregate("c", pipeline, Some(2)).await.unwrap();
            let mut work = Work::new(bench.ctx.clone());
            documents::drop_collection(&mut work, &collection("c"))
                .await
                .unwrap();
            let rest = client.more("c", first.cursor, None).await.unwrap();
            assert_eq!(marks(&rest), Vec::<usize>::new(), "{pipeline}");
        }
    });
}
