//! SIGTERM while items are written, expire and are purged: every stop ends with 0. Threads that were still inside RocksDB when the
//! process took its global state down once ended it with SIGABRT, in about one of 300 stops.

use std::sync::atomic::{AtomicU64, Ordering};

use lapsedb_testkit::{Container, EMULATOR_KEY, Engine, Options, Random, Server};
use serde_json::json;

/// How often the server is stopped; `LAPSEDB_STOPS` sets another number.
const STOPS: u64 = 50;
const WRITERS: usize = 2;
/// Ids that a writer uses again and again.
const IDS: usize = 40;
/// Writes and purges that must have happened before a stop, at most.
const WRITES_MAX: usize = 40;
const PURGES: u64 = 2;

/// Writes items that expire soon, until the server is gone.
fn write(mut container: Container, number: usize, written: &AtomicU64) {
    for turn in 0.. {
        let document =
            json!({ "id": format!("i{}", turn % IDS), "pk": format!("w{number}"), "ttl": 1 });
        let key = container.key_of(&document);
        let request = container
            .on_items("POST")
            .partition(&key)
            .header("x-ms-documentdb-is-upsert", "true")
            .json(&document);
        match container.client().send(request) {
            Ok(reply) if [200, 201].contains(&reply.status) => {
                written.fetch_add(1, Ordering::Relaxed);
            }
            Ok(_) | Err(_) => return,
        }
    }
}

/// Moves the clock and has expired items removed, until the server is gone.
fn purge(mut container: Container, purged: &AtomicU64) {
    let path = format!("/_lapsedb{}/ttl/purge", container.path());
    loop {
        for (path, body) in [
            ("/_lapsedb/clock", json!({ "advanceMillis": 2_000 })),
            (path.as_str(), json!({})),
        ] {
            let request = container.client().request("POST", path);
            let request = request.bearer(EMULATOR_KEY).json(&body);
            if container.client().send(request).is_err() {
                return;
            }
        }
        purged.fetch_add(1, Ordering::Relaxed);
    }
}

fn stops() -> u64 {
    let text = std::env::var("LAPSEDB_STOPS").ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(STOPS)
}

#[test]
fn every_stop_under_load_ends_with_0() {
    let mut server = Server::start(&Options::new(Engine::Disk).flag("--purge-grace").flag("0"));
    server.database("d");
    drop(server.container("d", "c", "/pk", &json!({ "defaultTtl": -1 })));
    let mut random = Random::new(300);
    for stop in 0..stops() {
        let (written, purged) = (&AtomicU64::new(0), &AtomicU64::new(0));
        let wanted = random.below(WRITES_MAX) as u64;
        let containers: Vec<_> = (0..=WRITERS)
            .map(|_| server.existing("d", "c", "/pk"))
            .collect();
        let code = std::thread::scope(|scope| {
            let mut containers = containers.into_iter();
            let purger = containers.next().unwrap();
            for (number, container) in containers.enumerate() {
                scope.spawn(move || write(container, number, written));
            }
            scope.spawn(move || purge(purger, purged));
            while written.load(Ordering::Relaxed) < wanted
                || purged.load(Ordering::Relaxed) < PURGES
            {
                std::thread::yield_now();
            }
            server.stop()
        });
        assert_eq!(code, Some(0), "stop {stop}: {}", server.log());
        server.restart();
    }
}
