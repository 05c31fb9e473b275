//! Many clients on the same items at the same moment: nothing is lost, nothing happens twice, and nobody brings back what
//! another has seen gone.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use lapsedb_testkit::{Container, Engine, Reply, Server};
use serde_json::{Value, json};

const CLIENTS: usize = 8;
const ROUNDS: usize = 15;

fn room(engine: Engine, more: &Value) -> Server {
    let server = Server::plain(engine);
    server.set_ms(server.now_ms().next_multiple_of(1000));
    server.database("d");
    drop(server.container("d", "c", "/pk", more));
    server
}

/// Runs one call of every client at the same moment.
fn together(server: &Server, call: impl Fn(usize, &mut Container) -> Reply + Sync) -> Vec<Reply> {
    let barrier = Barrier::new(CLIENTS);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (barrier, call) = (&barrier, &call);
                scope.spawn(move || {
                    let mut container = server.existing("d", "c", "/pk");
                    // The connection is made before the race begins.
                    let _warm = container.read("none");
                    barrier.wait();
                    call(number, &mut container)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

fn statuses(replies: &[Reply]) -> Vec<u16> {
    let mut all: Vec<_> = replies.iter().map(|reply| reply.status).collect();
    all.sort_unstable();
    all
}

#[test]
fn of_many_creates_of_one_id_one_succeeds() {
    for engine in Engine::ALL {
        let server = room(engine, &json!({}));
        for round in 0..ROUNDS {
            let id = format!("i{round}");
            let replies = together(&server, |number, container| {
                container.create(&json!({ "id": id, "pk": "p", "n": number }))
            });
            assert_eq!(statuses(&replies), [201, 409, 409, 409, 409, 409, 409, 409]);
        }
        assert_eq!(
            server.existing("d", "c", "/pk").check_counts(),
            ROUNDS as u64
        );
    }
}

#[test]
fn of_many_takers_of_a_unique_value_one_gets_it() {
    for engine in Engine::ALL {
        let unique = json!({ "uniqueKeyPolicy": { "uniqueKeys": [{ "paths": ["/email"] }] } });
        let server = room(engine, &unique);
        for round in 0..ROUNDS {
            let replies = together(&server, |number, container| {
                let id = format!("i{round}-{number}");
                container.upsert(&json!({ "id": id, "pk": "p", "email": round }))
            });
            assert_eq!(statuses(&replies), [201, 409, 409, 409, 409, 409, 409, 409]);
        }
        assert_eq!(
            server.existing("d", "c", "/pk").check_counts(),
            ROUNDS as u64
        );
    }
}

#[test]
fn of_many_replaces_with_one_etag_one_succeeds() {
    for engine in Engine::ALL {
        let server = room(engine, &json!({}));
        let mut container = server.existing("d", "c", "/pk");
        let mut etag = container
            .put(&json!({ "id": "a", "pk": "p" }))
            .header("etag")
            .unwrap()
            .to_owned();
        for _ in 0..ROUNDS {
            let replies = together(&server, |number, container| {
                let request = container
                    .on_item("PUT", "a")
                    .partition("[\"p\"]")
                    .header("if-match", &etag)
                    .json(&json!({ "id": "a", "pk": "p", "n": number }));
                container.send(request)
            });
            assert_eq!(statuses(&replies), [200, 412, 412, 412, 412, 412, 412, 412]);
            let winner = replies.iter().find(|reply| reply.status == 200).unwrap();
            etag = winner.header("etag").unwrap().to_owned();
        }
    }
}

/// Adds one to a counter, alone or with another item in a batch; a client that is told to try again does.
fn add_one(container: &mut Container, in_batch: bool) {
    let add = json!([{ "op": "incr", "path": "/n", "value": 1 }]);
    loop {
        let reply = if in_batch {
            let operations = json!([
                { "operationType": "Patch", "id": "a", "resourceBody": { "operations": add } },
                { "operationType": "Patch", "id": "b", "resourceBody": { "operations": add } },
            ]);
            container.batch("[\"p\"]", &operations)
        } else {
            let request = container
                .on_item("PATCH", "a")
                .partition("[\"p\"]")
                .json(&json!({ "operations": add }));
            container.send(request)
        };
        match reply.status {
            200 => return,
            449 => {}
            _ => panic!("{reply:?}"),
        }
    }
}

#[test]
fn no_increment_is_lost() {
    for engine in Engine::ALL {
        let server = room(engine, &json!({}));
        let mut container = server.existing("d", "c", "/pk");
        container.put(&json!({ "id": "a", "pk": "p", "n": 0 }));
        container.put(&json!({ "id": "b", "pk": "p", "n": 0 }));
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let server = &server;
                scope.spawn(move || {
                    let mut container = server.existing("d", "c", "/pk");
                    for _ in 0..ROUNDS {
                        add_one(&mut container, number % 2 == 0);
                    }
                });
            }
        });
        let mut n = |id: &str| {
            let request = container.on_item("GET", id).partition("[\"p\"]");
            container.send(request).json()["n"].clone()
        };
        assert_eq!(n("a"), json!(CLIENTS * ROUNDS), "{engine:?}");
        assert_eq!(n("b"), json!(CLIENTS * ROUNDS / 2), "{engine:?}");
    }
}

/// An item with a ttl of 1 lives in the second of its write alone, so a write that found it alive has that `_ts`.
#[test]
fn a_write_at_the_edge_never_brings_back_what_has_ended() {
    for engine in Engine::ALL {
        let server = room(engine, &json!({ "defaultTtl": 1 }));
        for round in 0..ROUNDS {
            let id = format!("i{round}");
            let mut container = server.existing("d", "c", "/pk");
            let first = container.put(&json!({ "id": id, "pk": "p" })).json()["_ts"].clone();
            let replies = together(&server, |number, container| match number {
                0 => {
                    server.advance_ms(1000);
                    container.read("none")
                }
                1..4 => container.replace(&json!({ "id": id, "pk": "p", "n": number })),
                4..6 => {
                    let request = container.on_item("PATCH", &id).partition("[\"p\"]").json(
                        &json!({ "operations": [{ "op": "set", "path": "/n", "value": number }] }),
                    );
                    container.send(request)
                }
                _ => container.upsert(&json!({ "id": id, "pk": "p", "n": number })),
            });
            // Once an upsert has made the item anew, its own second counts.
            let anew: Vec<_> = replies
                .iter()
                .filter(|reply| reply.status == 201)
                .map(|reply| reply.json()["_ts"].clone())
                .collect();
            assert!(
                anew.len() <= 1,
                "made anew twice in one second: {replies:?}"
            );
            for reply in &replies[1..] {
                let written = reply.json()["_ts"].clone();
                match reply.status {
                    200 => assert!(
                        written == first || anew.contains(&written),
                        "{engine:?}: brought back: {reply:?}"
                    ),
                    201 => assert_ne!(written, first, "{engine:?}: {reply:?}"),
                    404 => {}
                    _ => panic!("{engine:?}: {reply:?}"),
                }
            }
            server.advance_ms(2000);
        }
    }
}

/// A default that is raised and lowered while time goes on: whoever has seen an item gone never sees it again.
#[test]
fn a_change_at_the_edge_never_brings_back_what_has_ended() {
    for engine in Engine::ALL {
        let server = room(engine, &json!({ "defaultTtl": 1 }));
        let mut container = server.existing("d", "c", "/pk");
        for round in 0..ROUNDS {
            let id = format!("i{round}");
            assert_eq!(set_default(&mut container, 1), 200);
            container.put(&json!({ "id": id, "pk": "p" }));
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| watch(&server, &id, &done));
                    scope.spawn(|| raise_and_lower(&server, &done));
                }
                for _ in 0..20 {
                    server.advance_ms(100);
                }
                done.store(true, Ordering::Release);
            });
        }
        assert_eq!(set_default(&mut container, 1), 200);
        server.advance_ms(1000);
        assert_eq!(container.check_counts(), 0);
    }
}

fn raise_and_lower(server: &Server, done: &AtomicBool) {
    let mut container = server.existing("d", "c", "/pk");
    while !done.load(Ordering::Acquire) {
        for default in [1, 1000] {
            let status = set_default(&mut container, default);
            assert!(status == 200 || status == 449, "{status}");
        }
    }
}

fn set_default(container: &mut Container, default: u64) -> u16 {
    let body = json!({
        "id": "c",
        "partitionKey": { "paths": ["/pk"], "kind": "Hash", "version": 2 },
        "defaultTtl": default,
    });
    let path = container.path();
    let request = container.client().request("PUT", &path).json(&body);
    container.send(request).status
}

/// Reads an item again and again; once gone it stays gone.
fn watch(server: &Server, id: &str, done: &AtomicBool) {
    let mut container = server.existing("d", "c", "/pk");
    let mut seen_gone = false;
    let mut last = false;
    while !last {
        last = done.load(Ordering::Acquire);
        let request = container.on_item("GET", id).partition("[\"p\"]");
        match container.send(request).status {
            404 => seen_gone = true,
            status => assert!(!seen_gone, "{id} came back with {status}"),
        }
    }
}
