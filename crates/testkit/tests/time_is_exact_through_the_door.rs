//! Rows of `docs/ttl-cases.md` that need a process of their own: S5 (kill), S6 (many items), B15 (many reads), and every time from
//! the wall's to the end of the year 9999.

use lapsedb_testkit::{Container, Engine, Options, Server};
use serde_json::{Value, json};

/// Items of S6; `LAPSEDB_S6_ITEMS` sets the number, and holds the change to a time, on a machine that is not busy.
const S6_ITEMS: usize = 20_000;
/// Reads of B15.
const B15_READS: usize = 20_000;
/// Operations of one bulk request.
const BULK_OPERATIONS: usize = 100;
/// The last moment the virtual clock is moved to: the end of 9999-12-30.
const LAST_SECOND: u64 = 253_402_214_399;

/// A server on disk that stands at a whole second, and a container keyed by id.
fn room(default_ttl: &Value) -> (Server, Container, u64) {
    let server = Server::plain(Engine::Disk);
    let now = server.now_ms();
    let zero = server.set_ms(now.next_multiple_of(1000));
    server.database("d");
    let mut more = json!({});
    if !default_ttl.is_null() {
        more["defaultTtl"] = default_ttl.clone();
    }
    let container = server.container("d", "c", "/id", &more);
    (server, container, zero)
}

/// S2 and S3, with kill -9 as soon as the change is acknowledged.
fn s5(change: &Value, at_s: u64, alive: bool) {
    let (mut server, mut container, zero) = room(&json!(5));
    container.put(&json!({ "id": "a" }));
    container.put(&json!({ "id": "b", "ttl": 6 }));
    server.set_ms(zero + at_s * 1000);
    let reply = container.alter(&json!({ "defaultTtl": change }));
    server.kill();
    assert_eq!(reply.status, 200, "{reply:?}");
    server.restart();
    assert_eq!(
        server.now_ms(),
        zero + at_s * 1000,
        "the clock's move survives"
    );
    let mut container = server.existing("d", "c", "/id");
    let expected = if alive { 200 } else { 404 };
    for id in ["a", "b"] {
        let reply = container.read(id);
        assert_eq!(
            reply.status, expected,
            "{id} after {change} at {at_s} s: {reply:?}"
        );
    }
    assert_eq!(container.check_counts(), if alive { 2 } else { 0 });
    if !alive {
        // Not even another change, after another kill, brings them back.
        assert_eq!(container.alter(&json!({ "defaultTtl": null })).status, 200);
        server.kill();
        server.restart();
        let mut container = server.existing("d", "c", "/id");
        assert_eq!(container.check_counts(), 0);
        assert_eq!(container.create(&json!({ "id": "a" })).status, 201);
    }
}

#[test]
fn s5_raised_before_the_end_and_killed() {
    s5(&json!(10), 4, true);
}

#[test]
fn s5_raised_after_the_end_and_killed() {
    s5(&json!(10), 7, false);
}

#[test]
fn s5_switched_off_before_the_end_and_killed() {
    s5(&Value::Null, 4, true);
}

#[test]
fn s5_switched_off_after_the_end_and_killed() {
    s5(&Value::Null, 7, false);
}

#[test]
fn s5_no_default_after_the_end_and_killed() {
    s5(&json!(-1), 7, false);
}

/// Fills a container by bulk requests of several connections.
fn fill(server: &Server, items: usize) {
    std::thread::scope(|scope| {
        for part in 0..4 {
            scope.spawn(move || {
                let mut container = server.existing("d", "c", "/id");
                for first in (part * BULK_OPERATIONS..items).step_by(4 * BULK_OPERATIONS) {
                    let operations: Vec<_> = (first..(first + BULK_OPERATIONS).min(items))
                        .map(|number| {
                            let id = format!("i{number}");
                            json!({
                                "operationType": "Create",
                                "partitionKey": json!([id]).to_string(),
                                "resourceBody": { "id": id },
                            })
                        })
                        .collect();
                    let reply = container.bulk(&json!(operations));
                    assert_eq!(reply.status, 200, "{reply:?}");
                }
            });
        }
    });
}

#[test]
fn s6_many_expired_items_and_a_change_that_returns_at_once() {
    let asked = std::env::var("LAPSEDB_S6_ITEMS")
        .ok()
        .and_then(|text| text.parse().ok());
    let items = asked.unwrap_or(S6_ITEMS);
    let (server, mut container, zero) = room(&json!(5));
    fill(&server, items);
    assert_eq!(container.ttl_report()["live"]["items"], json!(items));
    server.set_ms(zero + 7000);
    for setting in [Value::Null, json!(-1), json!(1_000_000)] {
        #[allow(
            clippy::disallowed_methods,
            reason = "how long a call takes is no matter of TTL"
        )]
        let begin = std::time::Instant::now();
        let reply = container.alter(&json!({ "defaultTtl": setting }));
        let taken = begin.elapsed();
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(
            asked.is_none() || taken.as_secs() < 2,
            "the change to {setting} took {taken:?}"
        );
        assert_eq!(container.check_counts(), 0);
        let report = container.ttl_report();
        assert_eq!(report["expired"]["items"], json!(items), "{report}");
    }
    assert_eq!(container.read("i0").status, 404);
    assert_eq!(container.create(&json!({ "id": "i0" })).status, 201);
    assert_eq!(container.check_counts(), 1);
}

/// R9: nobody has to ask for it. The purger wakes about once a second.
#[test]
fn r9_the_dead_are_removed_without_being_asked() {
    let grace = Options::new(Engine::Disk).flag("--purge-grace").flag("1");
    let server = Server::start(&grace);
    server.database("d");
    let mut container = server.container("d", "c", "/id", &json!({ "defaultTtl": 5 }));
    for number in 0..500 {
        let ttl = [json!({}), json!({ "ttl": 3 }), json!({ "ttl": -1 })][number % 3].clone();
        let mut item = ttl;
        item["id"] = json!(format!("i{number}"));
        container.put(&item);
    }
    server.advance_ms(60_000);
    for _ in 0..1000 {
        let report = container.ttl_report();
        assert_eq!(report["live"]["items"], json!(166), "{report}");
        if report["expired"] == json!({ "items": 0, "bytes": 0 }) {
            assert_eq!(container.check_counts(), 166);
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("not removed: {}", container.ttl_report());
}

#[test]
fn b15_a_clock_that_stands_gives_the_same_answer_every_time() {
    let server = Server::plain(Engine::Memory);
    let zero = server.set_ms(server.now_ms().next_multiple_of(1000));
    server.database("d");
    let mut container = server.container("d", "c", "/id", &json!({ "defaultTtl": 5 }));
    container.put(&json!({ "id": "alive" }));
    server.set_ms(zero + 1000);
    container.put(&json!({ "id": "longer" }));
    server.set_ms(zero + 5000);
    for _ in 0..B15_READS / 2 {
        assert_eq!(container.read("alive").status, 404);
        assert_eq!(container.read("longer").status, 200);
    }
}

/// B1 to B3 at times that other products could not count: `T` and `T + n` on both sides of 2038, 2106 and up to 9999.
#[test]
fn numbers_at_the_edge_through_the_door() {
    for engine in Engine::ALL {
        let server = Server::plain(engine);
        server.database("d");
        let mut container = server.container("d", "c", "/id", &json!({ "defaultTtl": -1 }));
        let longest = 2_147_483_647;
        let mut number = 0;
        for written in [
            2_147_483_646,
            2_147_483_647,
            2_147_483_648,
            4_294_967_295,
            4_294_967_296,
            100_000_000_000,
            LAST_SECOND - 10,
        ] {
            server.set_ms(written * 1000 + 999);
            number += 1;
            let (short, long) = (format!("s{number}"), format!("l{number}"));
            let reply = container.put(&json!({ "id": short, "ttl": 1 }));
            assert_eq!(reply.json()["_ts"], json!(written));
            container.put(&json!({ "id": long, "ttl": longest }));
            assert_eq!(container.read(&short).status, 200, "{written}");
            server.advance_ms(1);
            assert_eq!(container.read(&short).status, 404, "{written} + 1");
            assert_eq!(container.read(&long).status, 200, "{written} + 1");
        }
        // The long lives that end before the calendar does.
        assert_eq!(container.read("l7").status, 200);
        assert_eq!(container.read("l6").status, 404);
        let report = container.ttl_report();
        assert_eq!(report["live"]["items"], json!(1), "{report}");
        server.set_ms(LAST_SECOND * 1000 + 999);
        assert_eq!(container.check_counts(), 1);
    }
}

/// The long life that begins on one side of 2038 and ends on the other side of 2106, to the millisecond.
#[test]
fn numbers_at_the_edge_end_to_the_millisecond() {
    let server = Server::plain(Engine::Memory);
    server.database("d");
    let mut container = server.container("d", "c", "/id", &json!({ "defaultTtl": 2_147_483_647 }));
    for written in [2_147_483_647_u64, 4_294_967_296, 8_000_000_000] {
        server.set_ms(written * 1000);
        container.put(&json!({ "id": "inherits" }));
        container.put(&json!({ "id": "own", "ttl": 2_147_483_647 }));
        let end = (written + 2_147_483_647) * 1000;
        server.set_ms(end - 1);
        assert_eq!(container.read("inherits").status, 200, "{written}");
        assert_eq!(container.read("own").status, 200, "{written}");
        server.set_ms(end);
        assert_eq!(container.read("inherits").status, 404, "{written}");
        assert_eq!(container.read("own").status, 404, "{written}");
        assert_eq!(container.check_counts(), 0);
    }
}
