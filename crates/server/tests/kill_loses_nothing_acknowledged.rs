//! kill -9 in the middle of concurrent writes, again and again on the same data: what was acknowledged is there, what was
//! not is there whole or not at all, and every count is what is there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lapsedb_testkit::{Container, Engine, Options, Random, Request, Server};
use serde_json::{Value, json};

/// How often the server is killed; `LAPSEDB_KILL_CYCLES` sets another number.
const CYCLES: u64 = 20;
/// Writers at once, each with a partition of its own.
const WRITERS: usize = 6;
/// Ids a writer uses again and again.
const IDS: usize = 12;
/// Items of one transactional batch.
const BATCH: usize = 5;
/// How long the writers run before the kill, at least and at most.
const RUN_MS: (u64, u64) = (20, 120);
/// Writes that are acknowledged before the kill at least, however long that takes on a busy machine.
const ACKNOWLEDGED_MIN: u64 = 20;
/// How far the clock moves from one cycle to the next: short lives end, long ones do not.
const CYCLE_CLOCK_MS: u64 = 1700;

/// A document as its writer knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Doc {
    tag: u64,
    /// The second in which it ends.
    ends: Option<u64>,
}

/// What a writer knows of its partition.
type Known = BTreeMap<String, Doc>;
/// What one request would make of some ids; none is a delete.
type Change = BTreeMap<String, Option<Doc>>;

/// One writer over all cycles.
struct Writer {
    partition: String,
    random: Random,
    known: Known,
    tags: u64,
}

impl Writer {
    fn new(number: usize) -> Writer {
        Writer {
            partition: format!("w{number}"),
            random: Random::new(number as u64),
            known: Known::new(),
            tags: 0,
        }
    }

    fn key(&self) -> String {
        json!([self.partition]).to_string()
    }

    /// A new version of a document, as JSON and as it will be known.
    fn version(&mut self, id: &str, now: u64) -> (Value, Doc) {
        self.tags += 1;
        let mut document = json!({
            "id": id,
            "pk": self.partition,
            "tag": self.tags,
            "u": format!("{id} {}", self.tags),
            "pad": "x".repeat(self.random.below(900)),
        });
        let ends = match self.random.below(4) {
            0 => Some(2),
            1 => Some(3600),
            _ => None,
        };
        if let Some(ttl) = ends {
            document["ttl"] = json!(ttl);
        }
        let doc = Doc {
            tag: self.tags,
            ends: ends.map(|ttl| now + ttl),
        };
        (document, doc)
    }

    /// The next request, what it would change, and the statuses that acknowledge it.
    fn next(&mut self, container: &Container, now: u64) -> (Request, Change, &'static [u16]) {
        let id = format!("i{}", self.random.below(IDS));
        let is_there = self.known.contains_key(&id);
        match self.random.below(10) {
            0..4 => {
                let operations = self.batch(now);
                let request = container.batch_request(&self.key(), &json!(operations.0));
                (request, operations.1, &[200])
            }
            4..6 if is_there => {
                let request = container.on_item("DELETE", &id).partition(&self.key());
                (request, Change::from([(id, None)]), &[204])
            }
            6..8 if is_there => {
                let (document, doc) = self.version(&id, now);
                let request = container
                    .on_item("PUT", &id)
                    .partition(&self.key())
                    .json(&document);
                (request, Change::from([(id, Some(doc))]), &[200])
            }
            choice => {
                let (document, doc) = self.version(&id, now);
                let mut request = container
                    .on_items("POST")
                    .partition(&self.key())
                    .json(&document);
                if is_there || choice == 9 {
                    request = request.header("x-ms-documentdb-is-upsert", "true");
                }
                let expected: &[u16] = if is_there { &[200] } else { &[201] };
                (request, Change::from([(id, Some(doc))]), expected)
            }
        }
    }

    /// A batch over the same ids each time, so that half a batch would show in tags that differ.
    fn batch(&mut self, now: u64) -> (Vec<Value>, Change) {
        let mut operations = Vec::new();
        let mut change = Change::new();
        for number in 0..BATCH {
            let id = format!("b{number}");
            if self.known.contains_key(&id) && self.random.percent(15) {
                operations.push(json!({ "operationType": "Delete", "id": id }));
                change.insert(id, None);
            } else {
                let (document, doc) = self.version(&id, now);
                operations.push(json!({ "operationType": "Upsert", "resourceBody": document }));
                change.insert(id, Some(doc));
            }
        }
        (operations, change)
    }

    /// Writes until the server is gone; gives back what was under way then.
    fn run(&mut self, mut container: Container, now: u64, acknowledged: &AtomicU64) -> Change {
        loop {
            let (request, change, expected) = self.next(&container, now);
            let Ok(reply) = container.client().send(request) else {
                return change;
            };
            assert!(
                expected.contains(&reply.status),
                "{change:?} of {}: {reply:?}",
                self.partition
            );
            acknowledged.fetch_add(1, Ordering::Relaxed);
            self.apply(&change);
        }
    }

    fn apply(&mut self, change: &Change) {
        for (id, doc) in change {
            match doc {
                Some(doc) => self.known.insert(id.clone(), doc.clone()),
                None => self.known.remove(id),
            };
        }
    }

    /// Compares what is there with what was acknowledged; what was under way has happened whole or not at all.
    fn verify(&mut self, there: &BTreeMap<String, u64>, pending: &Change, now: u64) {
        let alive = |known: &Known| -> BTreeMap<String, u64> {
            known
                .iter()
                .filter(|(_, doc)| doc.ends.is_none_or(|end| now < end))
                .map(|(id, doc)| (id.clone(), doc.tag))
                .collect()
        };
        let without = alive(&self.known);
        let before = self.known.clone();
        self.apply(pending);
        if *there == alive(&self.known) {
            return;
        }
        assert_eq!(
            *there, without,
            "partition {}: neither with nor without what was under way, {pending:?}",
            self.partition
        );
        self.known = before;
    }

    fn forget_the_dead(&mut self, now: u64) {
        self.known
            .retain(|_, doc| doc.ends.is_none_or(|end| now < end));
    }
}

/// Changes a container's default over and over; the last acknowledged one, or the one under way, must be in force.
fn change_settings(mut container: Container, from: u64) -> (u64, u64) {
    let mut acknowledged = from;
    loop {
        let wanted = acknowledged + 1;
        let path = container.path();
        let body = json!({
            "id": "settings",
            "partitionKey": { "paths": ["/pk"], "kind": "Hash", "version": 2 },
            "defaultTtl": wanted,
        });
        let request = container.client().request("PUT", &path).json(&body);
        match container.client().send(request) {
            Ok(reply) => assert_eq!(reply.status, 200, "{reply:?}"),
            Err(_) => return (acknowledged, wanted),
        }
        acknowledged = wanted;
    }
}

fn default_ttl(server: &Server) -> u64 {
    let mut client = server.client();
    let request = client.request("GET", "/dbs/d/colls/settings");
    client.must(request).json()["defaultTtl"].as_u64().unwrap()
}

/// Lets everybody write, kills the server, and says what was under way.
fn one_cycle(
    server: &mut Server,
    writers: &mut [Writer],
    settings: &mut u64,
    run_ms: u64,
) -> (Vec<Change>, u64) {
    let now = server.now_ms() / 1000;
    let connections: Vec<_> = writers
        .iter()
        .map(|_| server.existing("d", "c", "/pk"))
        .collect();
    let changer = server.existing("d", "settings", "/pk");
    let from = *settings;
    let acknowledged = &AtomicU64::new(0);
    std::thread::scope(|scope| {
        let running: Vec<_> = writers
            .iter_mut()
            .zip(connections)
            .map(|(writer, container)| {
                scope.spawn(move || writer.run(container, now, acknowledged))
            })
            .collect();
        let changing = scope.spawn(move || change_settings(changer, from));
        std::thread::sleep(Duration::from_millis(run_ms));
        while acknowledged.load(Ordering::Relaxed) < ACKNOWLEDGED_MIN {
            std::thread::sleep(Duration::from_millis(1));
        }
        server.kill();
        let pending = running
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        let (acknowledged, wanted) = changing.join().unwrap();
        *settings = acknowledged;
        (pending, wanted)
    })
}

fn cycles() -> u64 {
    std::env::var("LAPSEDB_KILL_CYCLES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(CYCLES)
}

#[test]
fn kill_in_the_middle_of_writes_loses_nothing_acknowledged() {
    let mut server = Server::start(&Options::new(Engine::Disk).flag("--purge-grace").flag("1"));
    server.database("d");
    let unique = json!({ "uniqueKeys": [{ "paths": ["/u"] }] });
    let items = json!({ "defaultTtl": -1, "uniqueKeyPolicy": unique });
    drop(server.container("d", "c", "/pk", &items));
    drop(server.container("d", "settings", "/pk", &json!({ "defaultTtl": 1 })));
    let mut writers: Vec<_> = (0..WRITERS).map(Writer::new).collect();
    let mut settings = 1;
    let mut random = Random::new(7);
    for cycle in 0..cycles() {
        let now = server.advance_ms(CYCLE_CLOCK_MS) / 1000;
        for writer in &mut writers {
            writer.forget_the_dead(now);
        }
        let run_ms = RUN_MS.0 + random.number() % (RUN_MS.1 - RUN_MS.0);
        let (pending, wanted) = one_cycle(&mut server, &mut writers, &mut settings, run_ms);
        server.restart();
        let after = server.now_ms() / 1000;
        assert_eq!(
            after, now,
            "cycle {cycle}: the clock's move was acknowledged"
        );
        let mut container = server.existing("d", "c", "/pk");
        let mut there: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for item in container.all() {
            let partition = item["pk"].as_str().unwrap().to_owned();
            let id = item["id"].as_str().unwrap().to_owned();
            let tag = item["tag"].as_u64().unwrap();
            let twice = there.entry(partition).or_default().insert(id, tag);
            assert_eq!(twice, None, "cycle {cycle}: an item is listed twice");
        }
        for (writer, pending) in writers.iter_mut().zip(&pending) {
            let mine = there.remove(&writer.partition).unwrap_or_default();
            writer.verify(&mine, pending, now);
        }
        container.check_counts();
        let found = default_ttl(&server);
        assert!(
            found == settings || found == wanted,
            "cycle {cycle}: the default is {found}, acknowledged was {settings}, under way {wanted}"
        );
        settings = found;
    }
    let sent: u64 = writers.iter().map(|writer| writer.tags).sum();
    println!("{sent} versions sent over {} kills", cycles());
}
