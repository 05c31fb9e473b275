//! Ten thousand items, half of them expired, none purged: every way to see items sees exactly the living half.

use std::collections::BTreeSet;

use lapsedb_testkit::{Container, Engine, Options, Reply, Server};
use serde_json::{Value, json};

/// All items. Those with an odd number expire.
const ITEMS: usize = 10_000;
const LIVING: usize = ITEMS / 2;
/// The life of mortal items in seconds.
const LIFE: u64 = 10;
const PARTITIONS: usize = 10;
/// Items of one bulk request.
const BULK: usize = 100;

fn document(at: usize) -> Value {
    let mut document = json!({
        "id": format!("i{at}"), "pk": format!("p{}", at % PARTITIONS), "n": at, "g": at % 20,
        "tags": [at, {"deep": at}], "name": format!("name {at}"),
    });
    if at % 2 == 1 {
        document["ttl"] = json!(LIFE);
    }
    document
}

fn key(at: usize) -> String {
    format!("[\"p{}\"]", at % PARTITIONS)
}

fn half_dead(server: &Server) -> Container {
    server.database("db");
    let more = json!({"defaultTtl": -1, "indexingPolicy": {"compositeIndexes":
        [[{"path": "/g"}, {"path": "/n", "order": "descending"}]]}});
    let mut container = server.container("db", "c", "/pk", &more);
    for from in (0..ITEMS).step_by(BULK) {
        let operations: Vec<Value> = (from..from + BULK)
            .map(|at| json!({"operationType": "Create", "partitionKey": key(at), "resourceBody": document(at)}))
            .collect();
        assert_eq!(container.bulk(&json!(operations)).status, 200);
    }
    assert_eq!(count(&mut container), ITEMS);
    server.advance_ms(LIFE * 1000);
    container
}

/// One page of a query.
fn page(
    container: &mut Container,
    text: &str,
    partition: Option<&str>,
    size: &str,
    token: Option<&str>,
) -> Reply {
    let mut request = container
        .on_items("POST")
        .header("x-ms-documentdb-isquery", "true")
        .header("x-ms-max-item-count", size)
        .json(&json!({"query": text}));
    if let Some(key) = partition {
        request = request.partition(key);
    }
    if let Some(token) = token {
        request = request.header("x-ms-continuation", token);
    }
    let reply = container.send(request);
    assert_eq!(reply.status, 200, "{text}: {}", reply.message());
    reply
}

fn rows_of(container: &mut Container, text: &str, partition: Option<&str>) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let reply = page(container, text, partition, "1000", token.as_deref());
        rows.extend(reply.json()["Documents"].as_array().unwrap().clone());
        match reply.header("x-ms-continuation") {
            Some(next) => token = Some(next.to_owned()),
            None => return rows,
        }
    }
}

fn rows(container: &mut Container, text: &str) -> Vec<Value> {
    rows_of(container, text, None)
}

fn count(container: &mut Container) -> usize {
    let rows = rows(container, "SELECT VALUE COUNT(1) FROM c");
    usize::try_from(rows[0].as_u64().unwrap()).unwrap()
}

fn living() -> impl DoubleEndedIterator<Item = usize> {
    (0..ITEMS).step_by(2)
}

fn numbers(rows: &[Value]) -> Vec<usize> {
    let number = |row: &Value| usize::try_from(row.as_u64().unwrap()).unwrap();
    rows.iter().map(number).collect()
}

fn check_queries(container: &mut Container) {
    let sum: usize = living().sum();
    for (text, expected) in [
        ("SELECT VALUE COUNT(1) FROM c", json!(LIVING)),
        ("SELECT VALUE COUNT(c) FROM c", json!(LIVING)),
        ("SELECT VALUE COUNT(c.n) FROM c", json!(LIVING)),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0", json!(LIVING)),
        ("SELECT VALUE SUM(c.n) FROM c", json!(sum)),
        ("SELECT VALUE AVG(c.n) FROM c", json!(sum / LIVING)),
        ("SELECT VALUE MIN(c.n) FROM c", json!(0)),
        ("SELECT VALUE MAX(c.n) FROM c", json!(ITEMS - 2)),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c)",
            json!(LIVING),
        ),
        (
            "SELECT VALUE COUNT(1) FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t.deep >= 0)",
            json!(LIVING),
        ),
        (
            "SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags",
            json!(2 * LIVING),
        ),
        (
            "SELECT VALUE COUNT(1) FROM c WHERE ARRAY_CONTAINS(c.tags, c.n)",
            json!(LIVING),
        ),
        (
            "SELECT VALUE COUNT(1) FROM c WHERE STARTSWITH(c.name, 'name ')",
            json!(LIVING),
        ),
        (
            "SELECT VALUE COUNT(1) FROM c WHERE IS_DEFINED(c.ttl)",
            json!(0),
        ),
        (
            "SELECT VALUE COUNT(1) FROM c WHERE NOT IS_DEFINED(c.missing)",
            json!(LIVING),
        ),
    ] {
        let found = rows(container, text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].as_f64(), expected.as_f64(), "{text}");
    }
    let forward: Vec<usize> = living().collect();
    let backward: Vec<usize> = living().rev().collect();
    for text in [
        "SELECT VALUE c.n FROM c ORDER BY c.n",
        "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n",
    ] {
        assert_eq!(numbers(&rows(container, text)), forward, "{text}");
    }
    let found = rows(container, "SELECT VALUE c.n FROM c ORDER BY c.n DESC");
    assert_eq!(numbers(&found), backward);
    let found = rows(container, "SELECT VALUE c.n FROM c ORDER BY c.g, c.n DESC");
    let mut by_both = backward;
    by_both.sort_by_key(|at| at % 20);
    assert_eq!(numbers(&found), by_both);
    for text in [
        "SELECT VALUE c.n FROM c",
        "SELECT VALUE c.n FROM c WHERE c.n >= 0",
        "SELECT VALUE t FROM c JOIN t IN c.tags WHERE IS_NUMBER(t)",
    ] {
        let found: BTreeSet<usize> = numbers(&rows(container, text)).into_iter().collect();
        assert_eq!(found, living().collect(), "{text}");
    }
    let whole = rows(container, "SELECT * FROM c");
    assert_eq!(whole.len(), LIVING);
    assert!(
        whole
            .iter()
            .all(|item| item["n"].as_u64().unwrap() % 2 == 0)
    );
    let groups = rows(container, "SELECT c.g, COUNT(1) AS k FROM c GROUP BY c.g");
    assert_eq!(groups.len(), 10);
    assert!(groups.iter().all(|group| group["k"] == json!(LIVING / 10)));
    assert_eq!(
        rows(container, "SELECT DISTINCT VALUE c.g FROM c").len(),
        10
    );
}

fn check_windows(container: &mut Container) {
    let found = rows(container, "SELECT TOP 100 VALUE c.n FROM c ORDER BY c.n");
    assert_eq!(numbers(&found), living().take(100).collect::<Vec<_>>());
    let found = rows(
        container,
        "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 50 LIMIT 60",
    );
    assert_eq!(
        numbers(&found),
        living().skip(50).take(60).collect::<Vec<_>>()
    );
    assert_eq!(
        rows(container, "SELECT TOP 4000 VALUE c.n FROM c").len(),
        4000
    );
    assert_eq!(
        rows(container, "SELECT VALUE c.n FROM c OFFSET 4990 LIMIT 60").len(),
        10
    );
}

fn check_names(container: &mut Container) {
    let list: Vec<String> = (0..100).map(|at| format!("'i{at}'")).collect();
    let text = format!("SELECT VALUE c.n FROM c WHERE c.id IN ({})", list.join(","));
    let found: BTreeSet<usize> = numbers(&rows(container, &text)).into_iter().collect();
    assert_eq!(found, living().take(50).collect());
    // As the client libraries ask for many items at once.
    let pairs: Vec<String> = (0..50)
        .map(|at| format!("(c.id = 'i{at}' AND c.pk = 'p{}')", at % PARTITIONS))
        .collect();
    let text = format!("SELECT * FROM c WHERE ( {} )", pairs.join(" OR "));
    assert_eq!(rows(container, &text).len(), 25);
    let found = rows(
        container,
        "SELECT VALUE c.n FROM c WHERE c.n > 999 AND c.n <= 1999",
    );
    let found: BTreeSet<usize> = numbers(&found).into_iter().collect();
    assert_eq!(found, (1000..2000).step_by(2).collect());
    for partition in 0..PARTITIONS {
        let expected = if partition % 2 == 0 {
            ITEMS / PARTITIONS
        } else {
            0
        };
        let header = format!("[\"p{partition}\"]");
        let found = rows_of(container, "SELECT VALUE COUNT(1) FROM c", Some(&header));
        assert_eq!(found, [json!(expected)]);
        assert_eq!(
            rows_of(container, "SELECT * FROM c", Some(&header)).len(),
            expected
        );
        let text = format!("SELECT VALUE c.id FROM c WHERE c.pk = 'p{partition}'");
        assert_eq!(rows(container, &text).len(), expected);
    }
}

fn check_items(container: &mut Container) {
    for at in (0..ITEMS).step_by(997) {
        let request = container
            .on_item("GET", &format!("i{at}"))
            .partition(&key(at));
        let expected = if at % 2 == 0 { 200 } else { 404 };
        assert_eq!(container.send(request).status, expected);
        let operations = json!([{"operationType": "Read", "id": format!("i{at}")}]);
        let reply = container.batch(&key(at), &operations);
        assert_eq!(reply.json()[0]["statusCode"], json!(expected));
        let etag = container
            .on_item("DELETE", &format!("i{at}"))
            .partition(&key(at))
            .header("if-match", "\"other\"");
        let expected = if at % 2 == 0 { 412 } else { 404 };
        assert_eq!(container.send(etag).status, expected);
    }
    let feed = container.all();
    assert_eq!(feed.len(), LIVING);
    assert!(feed.iter().all(|item| item["n"].as_u64().unwrap() % 2 == 0));
    assert_eq!(container.documents_count(), LIVING as u64);
    assert_eq!(container.check_counts(), LIVING as u64);
    let mut changes = 0;
    let mut etag: Option<String> = None;
    loop {
        let mut request = container
            .on_items("GET")
            .header("a-im", "Incremental Feed")
            .header("x-ms-max-item-count", "1000");
        if let Some(etag) = &etag {
            request = request.header("if-none-match", etag);
        }
        let reply = container.send(request);
        if reply.status == 304 {
            break;
        }
        changes += reply.json()["Documents"].as_array().unwrap().len();
        etag = reply.header("etag").map(str::to_owned);
    }
    assert_eq!(changes, LIVING);
}

fn check_listings(server: &Server, container: &mut Container) {
    let mut client = server.client();
    let request = client
        .request("GET", &container.path())
        .header("x-ms-documentdb-populatepartitionstatistics", "true");
    let listed = client.must(request).json();
    assert_eq!(listed["statistics"][0]["documentCount"], json!(LIVING));
    // A dead item blocks neither its id nor, see the unique keys' own cases, its values.
    let at = 1;
    assert_eq!(container.create(&document(at)).status, 201);
    assert_eq!(count(container), LIVING + 1);
    server.advance_ms(LIFE * 1000);
    assert_eq!(count(container), LIVING);
}

#[test]
fn every_way_to_see_items_sees_the_living_half() {
    for engine in Engine::ALL {
        let server = Server::start(&Options::new(engine).flag("--purge").flag("off"));
        let mut container = half_dead(&server);
        check_queries(&mut container);
        check_windows(&mut container);
        check_names(&mut container);
        check_items(&mut container);
        check_listings(&server, &mut container);
    }
}

/// Sixty items of which every third, then every second of the rest, expires while a query is paged through.
fn paged(server: &Server, id: &str) -> Container {
    let more = json!({"defaultTtl": -1});
    let mut container = server.container("pages", id, "/pk", &more);
    for at in 0..60 {
        let mut document = json!({"id": format!("i{at:02}"), "pk": "p", "n": at});
        match at % 3 {
            0 => document["ttl"] = json!(5),
            1 => document["ttl"] = json!(10),
            _ => {}
        }
        container.put(&document);
    }
    container
}

#[test]
fn b11_a_page_after_the_edge_omits_the_dead_and_loses_nobody_else() {
    for engine in Engine::ALL {
        let server = Server::start(&Options::new(engine).flag("--purge").flag("off"));
        server.database("pages");
        let texts = [
            "SELECT VALUE c.n FROM c",
            "SELECT VALUE c.n FROM c WHERE c.n >= 0",
            "SELECT VALUE c.n FROM c ORDER BY c.n",
            "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
            "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n",
        ];
        for (text, number) in texts.iter().zip(0..) {
            let mut container = paged(&server, &format!("c{number}"));
            let (mut seen, mut token) = (Vec::new(), None);
            for turn in 0.. {
                let dead =
                    |at: &usize| (turn >= 1 && at.is_multiple_of(3)) || (turn >= 2 && at % 3 == 1);
                let reply = page(&mut container, text, None, "7", token.as_deref());
                let found = numbers(reply.json()["Documents"].as_array().unwrap());
                assert!(!found.iter().any(dead), "{text}: {found:?} in turn {turn}");
                seen.extend(found);
                token = reply.header("x-ms-continuation").map(str::to_owned);
                if token.is_none() {
                    break;
                }
                if turn < 2 {
                    server.advance_ms(5000);
                }
            }
            let once: BTreeSet<usize> = seen.iter().copied().collect();
            assert_eq!(once.len(), seen.len(), "{text}: none comes twice");
            let immortal = (0..60).filter(|at| at % 3 == 2);
            for at in immortal {
                assert!(once.contains(&at), "{text}: {at} is missing");
            }
        }
    }
}

#[test]
fn b12_windows_are_full_of_the_living_whoever_died_between_them() {
    for engine in Engine::ALL {
        let server = Server::start(&Options::new(engine).flag("--purge").flag("off"));
        server.database("pages");
        let mut container = paged(&server, "c");
        server.advance_ms(5000);
        let living: Vec<usize> = (0..60).filter(|at| at % 3 != 0).collect();
        let backward: Vec<usize> = living.iter().rev().copied().collect();
        for (text, expected) in [
            ("SELECT TOP 10 VALUE c.n FROM c ORDER BY c.n", &living[..10]),
            (
                "SELECT TOP 10 VALUE c.n FROM c ORDER BY c.n DESC",
                &backward[..10],
            ),
            (
                "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 7 LIMIT 10",
                &living[7..17],
            ),
            (
                "SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 7 LIMIT 10",
                &backward[7..17],
            ),
            ("SELECT TOP 10 VALUE c.n FROM c", &living[..10]),
            (
                "SELECT VALUE c.n FROM c OFFSET 35 LIMIT 10",
                &living[35..40],
            ),
            (
                "SELECT TOP 10 VALUE c.n FROM c WHERE c.n > 20",
                &living[14..24],
            ),
        ] {
            assert_eq!(numbers(&rows(&mut container, text)), expected, "{text}");
        }
        let first = page(&mut container, "SELECT VALUE c.n FROM c", None, "10", None);
        assert_eq!(first.json()["Documents"].as_array().unwrap().len(), 10);
    }
}
