//! A query that reads only partitions, ids or index entries its filter names answers as a scan of everything does,
//! page by page, while items expire.

use crate::support::{Bench, object};
use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::{Paging, Selection, feed};
use lapsedb_service::items::query::{Metrics, Request, query};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::{PartitionKey, resource};
use lapsedb_sql::Params;
use lapsedb_value::{Object, Value, json};

const QUERIES: &[&str] = &[
    "SELECT * FROM c WHERE c.pk = 'p1'",
    "SELECT * FROM c WHERE c.pk IN ('p0', 'p2', 'nobody')",
    "SELECT * FROM c WHERE c.id = 'i7'",
    "SELECT * FROM c WHERE c.id = 'i7' AND c.pk = 'p1'",
    "SELECT * FROM c WHERE (c.id = 'i7' AND c.pk = 'p1') OR (c.id = 'i8' AND c.pk = 'p2')",
    "SELECT * FROM c WHERE c.pk = 'p1' OR c.n = 3",
    "SELECT VALUE c.id FROM c WHERE c.n = 3",
    "SELECT VALUE c.id FROM c WHERE 3.0 = c.n AND c.pk != 'p0'",
    "SELECT VALUE c.id FROM c WHERE c.n IN (1, 2, 'x') AND c.flag = true",
    "SELECT VALUE c.id FROM c WHERE c.n = null",
    "SELECT VALUE c.id FROM c WHERE c.deep.er = 'z'",
    "SELECT VALUE c.id FROM c WHERE c.tags = 'a'",
    "SELECT VALUE c.id FROM c WHERE c.tags[0] = 'a'",
    "SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n = 2",
    "SELECT VALUE COUNT(1) FROM c WHERE c.n = 2",
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT c.pk, COUNT(1) AS k FROM c WHERE c.flag = false GROUP BY c.pk",
    "SELECT VALUE c.id FROM c WHERE c.flag = true ORDER BY c.n DESC",
    "SELECT VALUE c.id FROM c WHERE NOT (c.n = 3)",
    "SELECT VALUE c.id FROM c WHERE c._ts = 5",
    "SELECT VALUE c.id FROM c WHERE c.n = 3 AND c.n = 4",
    "SELECT VALUE 1",
];

/// Item `i` of sixty: every kind of value, some with a life of their own.
fn item(i: usize) -> (String, String) {
    let n = match i % 7 {
        5 => "null".to_owned(),
        6 => "\"x\"".to_owned(),
        n => n.to_string(),
    };
    let ttl = match i % 5 {
        0 => ",\"ttl\":10",
        1 => ",\"ttl\":-1",
        _ => "",
    };
    let deep = if i.is_multiple_of(4) {
        ",\"deep\":{\"er\":\"z\"}"
    } else {
        ""
    };
    let tags = ["[]", "[\"a\",\"b\"]", "\"a\""][i % 3];
    let flag = i.is_multiple_of(2);
    let pk = format!("p{}", i % 3);
    let body = format!(
        "{{\"id\":\"i{i}\",\"pk\":\"{pk}\",\"n\":{n},\"flag\":{flag},\"tags\":{tags}{deep}{ttl}}}"
    );
    (pk, body)
}

async fn put(bench: &Bench, i: usize) {
    let (pk, body) = item(i);
    let op = ItemOp {
        action: Action::Upsert(Document::new(object(&body)).unwrap()),
        partition: Some(PartitionKey::parse(&format!("[\"{pk}\"]")).unwrap()),
        if_match: None,
        if_none_match: None,
        minimal: false,
    };
    let ran = items::run(&bench.ctx, ("db", "c"), None, &[op], Mode::Each)
        .await
        .unwrap();
    assert!(ran.results[0].is_ok());
}

/// Everything that is alive, as queries see it.
async fn living(bench: &Bench) -> Vec<Value> {
    let paging = Paging {
        items_max: Some(1000),
        resume: None,
    };
    let page = feed(
        &bench.ctx,
        ("db", "c"),
        None,
        &Selection::default(),
        &paging,
    )
    .await
    .unwrap();
    page.items
        .iter()
        .map(|(_, item)| resource::item_value(&page.scope.collection, item).unwrap())
        .collect()
}

async fn asked(bench: &Bench, text: &str, size: usize) -> Vec<String> {
    let mut body = Object::new();
    body.push("query", text);
    let posted = Query::of_body(&Value::Object(body)).unwrap();
    let mut rows = Vec::new();
    let mut continuation: Option<String> = None;
    loop {
        let request = Request {
            selection: Selection::default(),
            items_max: Some(size),
            continuation: continuation.as_deref(),
            metrics: Metrics::default(),
        };
        let page = query(&bench.ctx, ("db", "c"), None, &posted, request)
            .await
            .unwrap();
        assert!(page.rows.len() <= size, "{text}");
        rows.extend(page.rows.iter().map(json::to_string));
        match page.continuation {
            Some(token) => continuation = Some(token),
            None => return rows,
        }
    }
}

#[test]
fn as_a_scan_of_everything() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        bench.database("db").await;
        bench.collection("db", "c", Some(20)).await;
        for i in 0..60 {
            put(&bench, i).await;
        }
        for step in 0..3 {
            let documents = living(&bench).await;
            for text in QUERIES {
                let now = i64::try_from(bench.service.clock().now().0).unwrap();
                let expected =
                    lapsedb_sql::run(text, &Params::new(), documents.iter().cloned(), now).unwrap();
                let mut expected: Vec<String> = expected.iter().map(json::to_string).collect();
                let ordered = text.contains("ORDER BY");
                if !ordered {
                    expected.sort_unstable();
                }
                for size in [1, 3, 100] {
                    let mut rows = asked(&bench, text, size).await;
                    if !ordered {
                        rows.sort_unstable();
                    }
                    assert_eq!(rows, expected, "{text} by {size} at step {step}");
                }
            }
            // Ten seconds on, a fifth is gone; ten more, and only what never ends or was written again is left.
            bench.service.clock().advance(10_000).unwrap();
            put(&bench, 2 + step).await;
        }
    });
}
