//! The change feed of all versions and deletes over REST: every event with its metadata, in order, expiries among them.

use lapsedb_testkit::{Container, Engine, Reply, Request, Server};
use serde_json::{Value, json};

/// A request for a page behind a cursor.
fn request(container: &Container, cursor: Option<&str>) -> Request {
    let request = container
        .on_items("GET")
        .header("A-IM", "Full-Fidelity Feed")
        .header("x-ms-cosmos-changefeed-wire-format-version", "2021-09-15");
    match cursor {
        Some(cursor) => request.header("If-None-Match", cursor),
        None => request,
    }
}

fn cursor(reply: &Reply) -> String {
    reply.header("etag").expect("an etag").to_owned()
}

/// Where a reader stands who begins now.
fn begin(container: &mut Container) -> String {
    let reply = container.send(request(container, Some("*")));
    assert_eq!((reply.status, reply.body.len()), (304, 0), "{reply:?}");
    cursor(&reply)
}

/// Reads to the end: the events, and where the reader then stands.
fn follow(container: &mut Container, from: &str) -> (Vec<Value>, String) {
    let mut at = from.to_owned();
    let mut events = Vec::new();
    loop {
        let reply = container.send(request(container, Some(&at)));
        at = cursor(&reply);
        match reply.status {
            304 => return (events, at),
            200 => events.extend(reply.json()["Documents"].as_array().unwrap().clone()),
            _ => panic!("{reply:?}"),
        }
    }
}

/// The operation, the item, whether its time was up, and when it happened after a second.
fn short(events: &[Value], zero: u64) -> Vec<(String, String, bool, u64)> {
    let one = |event: &Value| {
        let metadata = &event["metadata"];
        let id = match metadata["operationType"].as_str().unwrap() {
            "delete" => &metadata["id"],
            _ => &event["current"]["id"],
        };
        (
            metadata["operationType"].as_str().unwrap().to_owned(),
            id.as_str().unwrap().to_owned(),
            metadata["timeToLiveExpired"].as_bool().unwrap(),
            metadata["crts"].as_u64().unwrap() - zero / 1000,
        )
    };
    events.iter().map(one).collect()
}

fn event(operation: &str, id: &str, expired: bool, at: u64) -> (String, String, bool, u64) {
    (operation.to_owned(), id.to_owned(), expired, at)
}

/// A server whose clock stands at a whole second.
fn server(engine: Engine) -> (Server, u64) {
    let server = Server::plain(engine);
    let zero = server.set_ms(server.now_ms().next_multiple_of(1000));
    server.database("d");
    (server, zero)
}

fn each_kind_of_event(engine: Engine) {
    let (server, zero) = server(engine);
    let mut container = server.container("d", "c", "/id", &json!({ "defaultTtl": 10 }));
    let start = begin(&mut container);
    let made = container.put(&json!({ "id": "a", "n": 1 })).json();
    server.advance_ms(1000);
    container.upsert(&json!({ "id": "a", "n": 2 }));
    container.patch("a", &json!([{ "op": "set", "path": "/n", "value": 3 }]));
    let last = container.read("a").json();
    server.advance_ms(1000);
    assert_eq!(container.delete("a").status, 204);
    let (events, at) = follow(&mut container, &start);
    let lsn = |event: &Value| event["metadata"]["lsn"].as_u64().unwrap();
    let lsns: Vec<_> = events.iter().map(lsn).collect();
    let second = zero / 1000;
    let replaced = |at: usize, current: &Value| {
        json!({ "current": current, "metadata": {
            "operationType": "replace", "lsn": lsns[at], "crts": second + 1,
            "previousImageLSN": lsns[at - 1], "timeToLiveExpired": false } })
    };
    let middle = &events[1]["current"];
    assert_eq!(middle["n"], 2);
    let wanted = [
        json!({ "current": made, "metadata": { "operationType": "create", "lsn": lsns[0], "crts": second,
            "previousImageLSN": 0, "timeToLiveExpired": false } }),
        replaced(1, middle),
        replaced(2, &last),
        json!({ "current": {}, "previous": last, "metadata": { "operationType": "delete", "lsn": lsns[3],
            "crts": second + 2, "previousImageLSN": lsns[2], "timeToLiveExpired": false, "id": "a",
            "partitionKey": { "id": "a" } } }),
    ];
    assert_eq!(events, wanted);
    assert!(lsns.is_sorted());

    let made = container.put(&json!({ "id": "b" })).json();
    server.advance_ms(25_000);
    let (events, at) = follow(&mut container, &at);
    assert_eq!(
        short(&events, zero),
        [
            event("create", "b", false, 2),
            event("delete", "b", true, 12)
        ]
    );
    assert_eq!(events[1]["previous"], made);
    assert_eq!(events[1]["current"], json!({}));
    assert_eq!(
        events[1]["metadata"]["previousImageLSN"],
        events[0]["metadata"]["lsn"]
    );
    assert_eq!(events[1]["metadata"]["partitionKey"], json!({ "id": "b" }));
    assert_eq!(follow(&mut container, &at).0, [] as [Value; 0]);
}

#[test]
fn each_kind_of_event_in_memory() {
    each_kind_of_event(Engine::Memory);
}

#[test]
fn each_kind_of_event_on_disk() {
    each_kind_of_event(Engine::Disk);
}

#[test]
fn an_expiry_stands_before_the_next_life_of_its_id() {
    let (server, zero) = server(Engine::Memory);
    let mut container = server.container("d", "c", "/id", &json!({ "defaultTtl": -1 }));
    let start = begin(&mut container);
    for life in 0..3_u64 {
        container.put(&json!({ "id": "a", "ttl": 2, "life": life }));
        server.advance_ms(2000);
    }
    // One that is deleted in time has not expired.
    container.put(&json!({ "id": "b", "ttl": 2 }));
    container.delete("b");
    server.advance_ms(10_000);
    let (events, _) = follow(&mut container, &start);
    let wanted = [
        event("create", "a", false, 0),
        event("delete", "a", true, 2),
        event("create", "a", false, 2),
        event("delete", "a", true, 4),
        event("create", "a", false, 4),
        event("delete", "a", true, 6),
        event("create", "b", false, 6),
        event("delete", "b", false, 6),
    ];
    // Among the events of different items, an expiry may stand later than its moment.
    for id in ["a", "b"] {
        let of_id = |events: Vec<_>| -> Vec<_> {
            let mine = |event: &(String, String, bool, u64)| event.1 == id;
            events.into_iter().filter(mine).collect()
        };
        assert_eq!(of_id(short(&events, zero)), of_id(wanted.to_vec()));
    }
}

#[test]
fn an_expiry_names_the_change_of_the_setting_that_caused_it() {
    let (server, zero) = server(Engine::Memory);
    let mut container = server.container("d", "c", "/id", &json!({ "defaultTtl": 100 }));
    let start = begin(&mut container);
    container.put(&json!({ "id": "a" }));
    server.advance_ms(50_000);
    assert_eq!(container.alter(&json!({ "defaultTtl": 10 })).status, 200);
    server.advance_ms(5000);
    container.put(&json!({ "id": "b" }));
    server.advance_ms(20_000);
    // Off: nothing more dies, and what has died stays so.
    assert_eq!(container.alter(&json!({ "defaultTtl": null })).status, 200);
    container.put(&json!({ "id": "a" }));
    server.advance_ms(100_000);
    let (events, _) = follow(&mut container, &start);
    let wanted = [
        event("create", "a", false, 0),
        event("delete", "a", true, 50),
        event("create", "b", false, 55),
        event("delete", "b", true, 65),
        event("create", "a", false, 75),
    ];
    let mut found = short(&events, zero);
    // `a` is told when it comes back, if no reader and no tick came before; then `b` is told after it.
    found.sort_by_key(|event| event.3);
    assert_eq!(found, wanted);
}

#[test]
fn a_batch_is_one_change() {
    let (server, _) = server(Engine::Memory);
    let mut container = server.container("d", "c", "/pk", &json!({}));
    let start = begin(&mut container);
    let create = |n: usize| json!({ "operationType": "Create", "resourceBody": { "id": format!("i{n}"), "pk": "p" } });
    let batch: Vec<_> = (0..3).map(create).collect();
    let reply = container.batch(r#"["p"]"#, &json!(batch));
    assert_eq!(reply.status, 200, "{reply:?}");
    container.put(&json!({ "id": "x", "pk": "q" }));
    let page = request(&container, Some(&start)).header("x-ms-max-item-count", "1");
    let reply = container.send(page);
    let body = reply.json();
    assert_eq!(body["_count"], 3);
    let documents = body["Documents"].as_array().unwrap();
    let lsns: Vec<_> = documents
        .iter()
        .map(|event| &event["metadata"]["lsn"])
        .collect();
    assert!(lsns.iter().all(|lsn| *lsn == lsns[0]), "{lsns:?}");
    let (rest, _) = follow(&mut container, &cursor(&reply));
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["current"]["id"], "x");
}

#[test]
fn one_partition_a_prefix_of_it_or_a_range() {
    let (server, _) = server(Engine::Memory);
    let key =
        json!({ "partitionKey": { "paths": ["/a", "/b"], "kind": "MultiHash", "version": 2 } });
    let mut container = server.container("d", "c", "/a", &key);
    let start = begin(&mut container);
    for (id, a, b) in [("1", "x", "y"), ("2", "z", "y"), ("3", "x", "w")] {
        let create = container
            .on_items("POST")
            .partition(&json!([a, b]).to_string())
            .json(&json!({ "id": id, "a": a, "b": b }));
        assert_eq!(container.send(create).status, 201);
    }
    let delete = container.on_item("DELETE", "3").partition(r#"["x","w"]"#);
    assert_eq!(container.send(delete).status, 204);
    let mut of = |more: &[(&str, &str)]| {
        let mut page = request(&container, Some(&start));
        for (name, value) in more {
            page = page.header(name, value);
        }
        let body = container.send(page).json();
        let events = body["Documents"].as_array().cloned().unwrap_or_default();
        short(&events, 0)
            .into_iter()
            .map(|(operation, id, ..)| format!("{operation} {id}"))
            .collect::<Vec<_>>()
    };
    let key = "x-ms-documentdb-partitionkey";
    assert_eq!(
        of(&[(key, r#"["x"]"#)]),
        ["create 1", "create 3", "delete 3"]
    );
    assert_eq!(of(&[(key, r#"["x","w"]"#)]), ["create 3", "delete 3"]);
    assert_eq!(of(&[(key, r#"["z","y"]"#)]), ["create 2"]);
    let half = "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
    let range = "x-ms-documentdb-partitionkeyrangeid";
    let lower = of(&[(range, "0"), ("x-ms-start-epk", ""), ("x-ms-end-epk", half)]);
    let upper = of(&[
        (range, "0"),
        ("x-ms-start-epk", half),
        ("x-ms-end-epk", "FF"),
    ]);
    assert_eq!(lower.len() + upper.len(), 4);
    assert_eq!(of(&[(range, "0")]).len(), 4);
}

#[test]
fn it_begins_now_or_at_a_cursor_and_nowhere_else() {
    let (server, _) = server(Engine::Memory);
    let mut container = server.container("d", "c", "/id", &json!({}));
    let refused = |container: &mut Container, request: Request| {
        let reply = container.send(request);
        assert_eq!(reply.status, 400, "{reply:?}");
        reply.message()
    };
    let beginning = request(&container, None);
    assert!(refused(&mut container, beginning).contains("from the beginning"));
    let date = "Sun, 15 Nov 2026 17:51:40 GMT";
    let since = request(&container, None).header("If-Modified-Since", date);
    refused(&mut container, since);
    let both = request(&container, Some("*")).header("If-Modified-Since", date);
    refused(&mut container, both);
    let future = request(&container, Some("\"999999999\""));
    assert!(refused(&mut container, future).contains("beyond"));
    for bad in ["x", "\"-1\"", "\"1.5\"", "\"99999999999999999999999\""] {
        let bad = request(&container, Some(bad));
        refused(&mut container, bad);
    }
    let mode = container.on_items("GET").header("A-IM", "Other Feed");
    refused(&mut container, mode);
}

#[test]
fn versions_are_kept_from_the_first_reader_on_and_the_etag_stays() {
    let (server, _) = server(Engine::Memory);
    let mut container = server.container("d", "c", "/id", &json!({}));
    container.put(&json!({ "id": "a" }));
    let early = container.on_items("GET").header("A-IM", "Incremental Feed");
    let early = cursor(&container.send(early));
    let path = container.path();
    let etag = |container: &mut Container| {
        let read = container.client().request("GET", &path);
        container.send(read).json()["_etag"].clone()
    };
    let known = etag(&mut container);
    // Nothing was kept yet, so nothing can be said of what came after that cursor.
    let refused = container.send(request(&container, Some(&early)));
    assert_eq!(refused.status, 400, "{refused:?}");
    let start = begin(&mut container);
    assert_eq!(etag(&mut container), known, "the container was not changed");
    container.upsert(&json!({ "id": "a", "n": 2 }));
    let (events, _) = follow(&mut container, &start);
    assert_eq!(events.len(), 1);
    assert_ne!(events[0]["metadata"]["previousImageLSN"], 0);
    assert_eq!(events[0]["current"]["n"], 2);
    let refused = container.send(request(&container, Some(&early)));
    assert_eq!(refused.status, 400, "{refused:?}");
}

#[test]
fn a_reader_beyond_the_retention_is_told_so() {
    let (server, _) = server(Engine::Disk);
    let policy = json!({ "changeFeedPolicy": { "retentionDuration": 10 } });
    let mut container = server.container("d", "c", "/id", &policy);
    let first = container.put(&json!({ "id": "a" }));
    let lsn = first.header("lsn").unwrap_or_default().to_owned();
    // With a policy they are kept from the start: any cursor of this container will do.
    let early = container.on_items("GET").header("A-IM", "Incremental Feed");
    let early = cursor(&container.send(early));
    container.put(&json!({ "id": "b" }));
    server.advance_ms(9 * 60_000);
    container.put(&json!({ "id": "c" }));
    let (events, middle) = follow(&mut container, &early);
    assert_eq!(events.len(), 2, "{lsn}");
    server.advance_ms(2 * 60_000);
    let refused = container.send(request(&container, Some(&early)));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.message().contains("10 minutes"), "{refused:?}");
    let (events, _) = follow(&mut container, &middle);
    assert_eq!(events.len(), 0);
    container.put(&json!({ "id": "d" }));
    assert_eq!(follow(&mut container, &middle).0.len(), 1);
}

#[test]
fn no_expiry_is_lost_or_doubled_by_kills() {
    let (mut server, zero) = server(Engine::Disk);
    let mut container = server.container("d", "c", "/id", &json!({ "defaultTtl": 5 }));
    let start = begin(&mut container);
    for n in 0..20 {
        container.put(&json!({ "id": format!("i{n}") }));
    }
    server.advance_ms(5000);
    let mut seen = Vec::new();
    let mut at = start;
    for _ in 0..3 {
        let page = request(&container, Some(&at)).header("x-ms-max-item-count", "13");
        let reply = container.send(page);
        at = cursor(&reply);
        if reply.status == 200 {
            seen.extend(reply.json()["Documents"].as_array().unwrap().clone());
        }
        server.kill();
        server.restart();
        container = server.existing("d", "c", "/id");
    }
    let (rest, at) = follow(&mut container, &at);
    seen.extend(rest);
    let told = short(&seen, zero);
    for (half, wanted) in [(0, "create"), (20, "delete")] {
        for n in 0..20 {
            let expired = wanted == "delete";
            let at = if expired { 5 } else { 0 };
            assert_eq!(told[half + n], event(wanted, &format!("i{n}"), expired, at));
        }
    }
    assert_eq!(told.len(), 40);
    assert_eq!(follow(&mut container, &at).0.len(), 0);
}
