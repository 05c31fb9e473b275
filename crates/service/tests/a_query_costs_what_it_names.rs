//! What a query reads, counted in items and index entries, grows with its answer and not with the container.

use crate::support::{Bench, object};
use lapsedb_service::PartitionKey;
use lapsedb_service::charge::QueryWork;
use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::Selection;
use lapsedb_service::items::query::{Metrics, QueryPage, Request, query};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_value::{Object, Value, json};

/// Items and entries that a query may read beyond those it names: a look ahead, a shape, a probe.
const SLACK: u64 = 24;

/// Ten items of each group, ten partitions, seven cities, some with an array.
async fn filled(count: u64) -> Bench {
    let bench = Bench::new().await;
    bench.database("db").await;
    bench.collection("db", "c", Some(1000)).await;
    let op = |i: u64| {
        let body = format!(
            "{{\"id\":\"i{i}\",\"pk\":\"p{}\",\"n\":{i},\"team\":{},\"city\":\"c{}\",\"even\":{},\"code\":\"k{i:08}\",\"tags\":[\"t{}\",\"all\"]}}",
            i % 10,
            i / 10,
            i % 7,
            i.is_multiple_of(2),
            i / 5,
        );
        ItemOp {
            action: Action::Create(Document::new(object(&body)).unwrap()),
            partition: Some(PartitionKey::parse(&format!("[\"p{}\"]", i % 10)).unwrap()),
            if_match: None,
            if_none_match: None,
            minimal: false,
        }
    };
    let all: Vec<u64> = (0..count).collect();
    for step in all.chunks(100) {
        let ops: Vec<ItemOp> = step.iter().copied().map(op).collect();
        items::run(&bench.ctx, ("db", "c"), None, &ops, Mode::Each)
            .await
            .unwrap();
    }
    bench
}

async fn page(
    bench: &Bench,
    text: &str,
    size: usize,
    token: Option<&str>,
    p: Option<&str>,
) -> QueryPage {
    let mut body = Object::new();
    body.push("query", text);
    let posted = Query::of_body(&Value::Object(body)).unwrap();
    let request = Request {
        selection: Selection {
            partition: p.map(|p| PartitionKey::parse(&format!("[\"{p}\"]")).unwrap()),
            ..Selection::default()
        },
        items_max: Some(size),
        continuation: token,
        metrics: Metrics::default(),
    };
    query(&bench.ctx, ("db", "c"), None, &posted, request)
        .await
        .unwrap()
}

async fn all(bench: &Bench, text: &str, p: Option<&str>) -> (Vec<String>, QueryWork) {
    let page = page(bench, text, 1000, None, p).await;
    assert!(page.continuation.is_none(), "{text}");
    (page.rows.iter().map(json::to_string).collect(), page.work)
}

fn ids(numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    numbers.into_iter().map(|n| format!("\"i{n}\"")).collect()
}

/// Queries that name a few items of any container: the answer, and how many items may be read for it.
fn few(count: u64) -> Vec<(&'static str, Option<&'static str>, Vec<String>)> {
    let last = count - 1;
    vec![
        (
            "SELECT VALUE c.id FROM c WHERE c.team = 5",
            None,
            ids(50..60),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.team IN (5, 7)",
            None,
            ids((50..60).chain(70..80)),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.n >= 500 AND c.n < 510",
            None,
            ids(500..510),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE (c.n BETWEEN 500 AND 509) AND c.even",
            None,
            ids((500..510).step_by(2)),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.team = 5 OR c.n = 7",
            None,
            ids([7].into_iter().chain(50..60)),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.code, 'k0000099') AND c.n < 995",
            None,
            ids(990..995),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.code LIKE 'k0000099%' AND c.even",
            None,
            ids((990..1000).step_by(2)),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 't4')",
            None,
            ids(20..25),
        ),
        (
            "SELECT VALUE c.id FROM c JOIN t IN c.tags WHERE t = 't4'",
            None,
            ids(20..25),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.team = 5 AND c.city = 'c3'",
            None,
            ids([52, 59]),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.team = 5",
            Some("p3"),
            ids([53]),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.id = 'i53'",
            Some("p3"),
            ids([53]),
        ),
        (
            "SELECT VALUE c.id FROM c ORDER BY c.n OFFSET 0 LIMIT 10",
            None,
            ids(0..10),
        ),
        (
            "SELECT VALUE c.id FROM c ORDER BY c.n OFFSET 5 LIMIT 5",
            None,
            ids(5..10),
        ),
        (
            "SELECT TOP 10 VALUE c.id FROM c ORDER BY c.n DESC",
            None,
            ids((last - 9..=last).rev()),
        ),
        (
            "SELECT TOP 5 VALUE c.id FROM c WHERE c.n >= 300 ORDER BY c.n",
            None,
            ids(300..305),
        ),
        (
            "SELECT TOP 5 VALUE c.id FROM c WHERE c.team = 5 ORDER BY c.n DESC",
            None,
            ids((55..60).rev()),
        ),
        (
            "SELECT TOP 5 VALUE c.id FROM c WHERE NOT IS_DEFINED(c.n)",
            None,
            ids([]),
        ),
        ("SELECT TOP 5 VALUE c.id FROM c", None, ids(0..5)),
    ]
}

async fn few_are_few(bench: &Bench, count: u64) {
    for (text, p, mut expected) in few(count) {
        let (mut rows, work) = all(bench, text, p).await;
        if !text.contains("ORDER BY") {
            rows.sort_unstable();
            expected.sort_unstable();
        }
        assert_eq!(rows, expected, "{text} of {count}");
        let most = 10 + expected.len() as u64 + SLACK;
        assert!(work.items_read <= most, "{text} of {count}: {work:?}");
        assert!(
            work.index_entries_read <= 8 * most,
            "{text} of {count}: {work:?}"
        );
    }
}

/// Queries that entries alone can answer.
async fn no_items_for_sums(bench: &Bench, count: u64) {
    let (rows, work) = all(bench, "SELECT VALUE COUNT(1) FROM c", None).await;
    assert_eq!(rows, [count.to_string()]);
    assert_eq!((work.items_read, work.index_entries_read), (0, 0));
    let tenth = count / 10;
    for (text, p, expected, entries) in [
        (
            "SELECT VALUE COUNT(1) FROM c",
            Some("p3"),
            tenth.to_string(),
            tenth,
        ),
        (
            "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'p3'",
            None,
            tenth.to_string(),
            tenth,
        ),
        (
            "SELECT VALUE COUNT(1) FROM c WHERE c.n < 100",
            None,
            "100".to_owned(),
            100,
        ),
        (
            "SELECT VALUE MAX(c.n) FROM c",
            None,
            (count - 1).to_string(),
            count,
        ),
        (
            "SELECT VALUE SUM(c.n) FROM c WHERE c.n < 4",
            None,
            "6".to_owned(),
            4,
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.city FROM c)",
            None,
            "7".to_owned(),
            0,
        ),
    ] {
        let (rows, work) = all(bench, text, p).await;
        assert_eq!(rows, [expected], "{text}");
        if entries > 0 {
            assert!(work.items_read <= SLACK, "{text} of {count}: {work:?}");
            assert!(
                work.index_entries_read <= 2 * entries + 5000,
                "{text} of {count}: {work:?}"
            );
        }
    }
    for text in [
        "SELECT DISTINCT VALUE c.city FROM c",
        "SELECT c.city, COUNT(1) AS k FROM c GROUP BY c.city",
    ] {
        let (rows, work) = all(bench, text, None).await;
        assert_eq!(rows.len(), 7, "{text}");
        assert!(work.items_read <= SLACK, "{text} of {count}: {work:?}");
    }
}

/// No page costs more than the first, wherever it is.
async fn pages_cost_alike(bench: &Bench, count: u64, pages: usize) {
    for text in [
        "SELECT VALUE c.id FROM c",
        "SELECT VALUE c.id FROM c WHERE c.even = true",
        "SELECT VALUE c.id FROM c WHERE c.n >= 0",
        "SELECT VALUE c.id FROM c WHERE c.even = true AND c.city = 'c3'",
        "SELECT VALUE c.id FROM c ORDER BY c.n",
        "SELECT VALUE c.id FROM c ORDER BY c.city DESC",
        "SELECT VALUE c.id FROM c WHERE c.even ORDER BY c.n DESC",
    ] {
        let mut token: Option<String> = None;
        let mut first = None;
        for _ in 0..pages {
            let page = page(bench, text, 10, token.as_deref(), None).await;
            let work = page.work;
            let first = *first.get_or_insert(work);
            assert!(
                work.items_read <= 2 * first.items_read + SLACK,
                "{text} of {count}: {first:?} {work:?}"
            );
            assert!(
                work.index_entries_read <= 2 * first.index_entries_read + 8 * SLACK,
                "{text} of {count}: {first:?} {work:?}"
            );
            assert!(
                page.rows.len() == 10 || page.continuation.is_none(),
                "{text}"
            );
            match page.continuation {
                Some(next) => token = Some(next),
                None => break,
            }
        }
    }
}

async fn holds_for(count: u64) {
    let bench = filled(count).await;
    few_are_few(&bench, count).await;
    no_items_for_sums(&bench, count).await;
    pages_cost_alike(&bench, count, 40).await;
    let counts = bench.service.counts();
    assert!(counts.query_items() > 0 && counts.query_index_entries() > 0);
}

#[test]
fn of_a_thousand() {
    lapsedb_testkit::run(async {
        holds_for(1_000).await;
    });
}

#[test]
fn of_ten_thousand() {
    lapsedb_testkit::run(async {
        holds_for(10_000).await;
    });
}

#[test]
#[ignore = "takes a while: make soak"]
fn of_a_hundred_thousand() {
    lapsedb_testkit::run(async {
        holds_for(100_000).await;
    });
}
