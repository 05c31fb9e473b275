//! kill -9 in the middle of purging and giving disk space back, while ids that have died are made anew: after every start the
//! calendar is what a count of everything finds, and nothing dead is left to purge twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lapsedb_testkit::{Container, EMULATOR_KEY, Engine, Options, Random, Server};
use serde_json::{Value, json};

/// How often the server is killed; `LAPSEDB_KILL_CYCLES` sets another number.
const CYCLES: u64 = 8;
const WRITERS: usize = 3;
/// Ids a writer uses again and again, so that most of its writes meet a dead one.
const IDS: usize = 40;
/// How long they run before the kill, at least and at most.
const RUN_MS: (u64, u64) = (100, 500);

fn admin(container: &mut Container, method: &str, call: &str) -> Option<Value> {
    let path = format!("/_lapsedb{}/ttl{call}", container.path());
    let request = container.client().request(method, &path);
    let reply = container.client().send(request.bearer(EMULATOR_KEY)).ok()?;
    assert_eq!(reply.status, 200, "{reply:?}");
    Some(reply.json())
}

/// Writes items of all kinds until the server is gone.
fn write(mut container: Container, number: usize, mut random: Random) {
    loop {
        let id = format!("i{}", random.below(IDS));
        let mut document =
            json!({ "id": id, "pk": format!("w{number}"), "u": format!("{id} {number}") });
        match random.below(4) {
            0 => document["ttl"] = json!(1),
            1 => document["ttl"] = json!(3),
            2 if random.percent(10) => document["ttl"] = json!(-1),
            _ => {}
        }
        let key = container.key_of(&document);
        let request = container
            .on_items("POST")
            .partition(&key)
            .header("x-ms-documentdb-is-upsert", "true")
            .json(&document);
        match container.client().send(request) {
            Ok(reply) => assert!([200, 201].contains(&reply.status), "{reply:?}"),
            Err(_) => return,
        }
    }
}

/// Moves the clock and purges until the server is gone; counts what it purged.
fn purge(mut container: Container, purged: &AtomicU64) {
    loop {
        let request = container.client().request("POST", "/_lapsedb/clock");
        let request = request
            .bearer(EMULATOR_KEY)
            .json(&json!({ "advanceMillis": 500 }));
        if container.client().send(request).is_err() {
            return;
        }
        match admin(&mut container, "POST", "/purge") {
            Some(answer) => {
                let items = answer["purged"]["items"].as_u64().unwrap();
                purged.fetch_add(items, Ordering::Relaxed);
            }
            None => return,
        }
    }
}

/// What a full count and the calendar say of the same moment: the server purges by itself too, so one between two equal reports.
fn counts(container: &mut Container) -> (Value, Value) {
    loop {
        let before = container.ttl_report();
        let counted = admin(container, "POST", "/recount").unwrap();
        let report = container.ttl_report();
        if before["expired"] == report["expired"] {
            return (counted, report);
        }
    }
}

fn cycles() -> u64 {
    let text = std::env::var("LAPSEDB_KILL_CYCLES").ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(CYCLES)
}

#[test]
fn kill_while_purging_counts_nothing_twice() {
    let mut server = Server::start(&Options::new(Engine::Disk).flag("--purge-grace").flag("0"));
    server.database("d");
    let unique = json!({ "uniqueKeys": [{ "paths": ["/u"] }] });
    let definition = json!({ "defaultTtl": 2, "uniqueKeyPolicy": unique });
    drop(server.container("d", "c", "/pk", &definition));
    let mut random = Random::new(11);
    let purged = &AtomicU64::new(0);
    for cycle in 0..cycles() {
        let containers: Vec<_> = (0..=WRITERS)
            .map(|_| server.existing("d", "c", "/pk"))
            .collect();
        let run_ms = RUN_MS.0 + random.number() % (RUN_MS.1 - RUN_MS.0);
        std::thread::scope(|scope| {
            let mut containers = containers.into_iter();
            let purger = containers.next().unwrap();
            for (number, container) in containers.enumerate() {
                let random = Random::new(cycle * 100 + number as u64);
                scope.spawn(move || write(container, number, random));
            }
            scope.spawn(move || purge(purger, purged));
            std::thread::sleep(Duration::from_millis(run_ms));
            // However long it takes on a busy machine: the first kill comes after the first purge.
            while purged.load(Ordering::Relaxed) == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            server.kill();
        });
        server.restart();
        let mut container = server.existing("d", "c", "/pk");
        container.check_counts();
        let (counted, report) = counts(&mut container);
        assert_eq!(counted["bucketsWrong"], 0, "cycle {cycle}: {counted}");
        assert_eq!(counted["live"], report["live"], "cycle {cycle}");
        assert_eq!(counted["expired"], report["expired"], "cycle {cycle}");
    }
    server.advance_ms(10_000);
    let mut container = server.existing("d", "c", "/pk");
    let waiting = container.ttl_report()["expired"]["items"].as_u64().unwrap();
    let last = admin(&mut container, "POST", "/purge").unwrap();
    // The tick may have come first.
    assert!(last["purged"]["items"].as_u64().unwrap() <= waiting);
    let report = container.ttl_report();
    assert_eq!(report["expired"]["items"], 0, "{report}");
    container.check_counts();
}
