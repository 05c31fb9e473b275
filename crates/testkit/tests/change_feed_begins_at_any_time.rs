//! The change feed from a point in time, together with a cursor, over a kill.

use lapsedb_testkit::{Container, Engine, Reply, Server};
use serde_json::json;

/// The text of a second as HTTP writes it.
fn http_date(ms: u64) -> String {
    let second = i64::try_from(ms / 1000).unwrap();
    let zoned = jiff::Timestamp::from_second(second).unwrap();
    zoned.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// One page from a cursor and a time.
fn page(container: &mut Container, cursor: Option<&str>, since: Option<u64>) -> Reply {
    let mut request = container.on_items("GET").header("A-IM", "Incremental Feed");
    if let Some(cursor) = cursor {
        request = request.header("If-None-Match", cursor);
    }
    if let Some(since) = since {
        request = request.header("If-Modified-Since", &http_date(since));
    }
    container.send(request)
}

fn ids(reply: &Reply) -> Vec<String> {
    let body = reply.json();
    let documents = body["Documents"].as_array().cloned().unwrap_or_default();
    let id = |document: &serde_json::Value| document["id"].as_str().unwrap().to_owned();
    documents.iter().map(id).collect()
}

fn begins_at_any_time(engine: Engine) {
    let server = Server::plain(engine);
    let zero = server.set_ms(server.now_ms().next_multiple_of(1000));
    server.database("d");
    let mut container = server.container("d", "c", "/id", &json!({}));
    for second in 0..20_u64 {
        server.set_ms(zero + second * 1000 + 500);
        // Both classes of the log take part.
        let ttl = if second % 3 == 0 {
            json!(-1)
        } else {
            json!(null)
        };
        let mut document = json!({ "id": format!("i{second}") });
        if !ttl.is_null() {
            document["ttl"] = ttl;
        }
        container.put(&document);
    }
    let from = |second: u64| (second..20).map(|n| format!("i{n}")).collect::<Vec<_>>();
    for second in 0..20 {
        // The second that is named is not in it: all readers, of everything, of a key and of a range, begin behind it.
        let since = zero + second * 1000;
        let reply = page(&mut container, None, Some(since));
        assert_eq!(ids(&reply), from(second + 1), "since {second}: {reply:?}");
        let before = page(&mut container, None, Some(since - 1000));
        assert_eq!(ids(&before), from(second), "since {second}: {before:?}");
        for (seconds, found) in [(0, false), (1, true)] {
            let since = http_date(since - seconds * 1000);
            let id = format!("i{second}");
            let of_key = ("x-ms-documentdb-partitionkey", json!([id]).to_string());
            let of_range = ("x-ms-start-epk", String::new());
            for (name, value) in [of_key, of_range] {
                let request = container.on_items("GET").header("A-IM", "Incremental Feed");
                let request = request.header("If-Modified-Since", &since);
                let reply = container.send(request.header(name, &value));
                assert_eq!(
                    ids(&reply).contains(&id),
                    found,
                    "{name} {value}: {reply:?}"
                );
            }
        }
    }
    let early = page(&mut container, None, Some(1_000));
    assert_eq!(ids(&early), from(0));
    let future = page(&mut container, None, Some(zero + 60_000));
    assert_eq!(future.status, 304, "{future:?}");
    let cursor = future.header("etag").unwrap().to_owned();

    // With a cursor the time stays a bound: what is written before it is passed over.
    container.put(&json!({ "id": "before" }));
    let reply = page(&mut container, Some(&cursor), Some(zero + 60_000));
    assert_eq!(reply.status, 304, "{reply:?}");
    server.set_ms(zero + 60_000);
    container.put(&json!({ "id": "at" }));
    let reply = page(&mut container, Some(&cursor), Some(zero + 60_000));
    assert_eq!(reply.status, 304, "{reply:?}");
    server.set_ms(zero + 61_000);
    container.put(&json!({ "id": "after" }));
    let reply = page(&mut container, Some(&cursor), Some(zero + 60_000));
    assert_eq!(ids(&reply), ["after"]);
    let reply = page(&mut container, Some(&cursor), None);
    assert_eq!(ids(&reply), ["before", "at", "after"]);
    // A time long ago does not move a cursor back.
    let reply = page(&mut container, Some(&cursor), Some(zero));
    assert_eq!(ids(&reply), ["before", "at", "after"]);
}

#[test]
fn in_memory() {
    begins_at_any_time(Engine::Memory);
}

#[test]
fn on_disk() {
    begins_at_any_time(Engine::Disk);
}

#[test]
fn a_cursor_survives_a_kill() {
    let mut server = Server::plain(Engine::Disk);
    server.database("d");
    let mut container = server.container("d", "c", "/id", &json!({}));
    container.put(&json!({ "id": "a" }));
    let reply = page(&mut container, None, None);
    assert_eq!(ids(&reply), ["a"]);
    let cursor = reply.header("etag").unwrap().to_owned();
    container.put(&json!({ "id": "b" }));
    server.kill();
    server.restart();
    let mut container = server.existing("d", "c", "/id");
    assert_eq!(ids(&page(&mut container, Some(&cursor), None)), ["b"]);
    container.put(&json!({ "id": "c" }));
    assert_eq!(ids(&page(&mut container, Some(&cursor), None)), ["b", "c"]);
}
