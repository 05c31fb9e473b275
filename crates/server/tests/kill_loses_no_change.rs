//! Writers, a clock that moves, settings that change and purges at work, killed again and again, while readers follow both
//! change feeds from where they once began: no change is lost, none comes twice, order is kept, and every expiry is told once,
//! with its moment, and none that is none.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lapsedb_testkit::{Client, Container, Engine, Options, Random, Request, Server};
use serde_json::{Value, json};

/// How often the server is killed; `LAPSEDB_KILL_CYCLES` sets another number.
const CYCLES: u64 = 8;
/// Writers at once, each with a partition of its own.
const WRITERS: usize = 4;
/// Ids a writer uses again and again.
const IDS: usize = 6;
/// How long all run before the kill, at least and at most.
const RUN_MS: (u64, u64) = (40, 250);
/// The defaults that the container goes through; none is off.
const DEFAULTS: [Option<i64>; 5] = [None, Some(-1), Some(1), Some(3), Some(60)];

const VERSIONS: &str = "Full-Fidelity Feed";
const LATEST: &str = "Incremental Feed";

/// A write that was sent: none is a delete. Known is the status that acknowledged it.
#[derive(Clone, Debug)]
struct Sent {
    id: String,
    tag: Option<u64>,
    status: Option<u16>,
}

struct Writer {
    partition: String,
    random: Random,
    tags: u64,
    sent: Vec<Sent>,
}

impl Writer {
    fn document(&mut self) -> (Value, Sent) {
        self.tags += 1;
        let id = format!("{}-{}", self.partition, self.random.below(IDS));
        let mut document = json!({ "id": id, "pk": self.partition, "tag": self.tags });
        match self.random.below(5) {
            0 => document["ttl"] = json!(1),
            1 => document["ttl"] = json!(4),
            2 => document["ttl"] = json!(-1),
            _ => {}
        }
        let sent = Sent {
            id,
            tag: Some(self.tags),
            status: None,
        };
        (document, sent)
    }

    /// Writes until the server is gone.
    fn run(&mut self, mut container: Container) {
        let key = json!([self.partition]).to_string();
        loop {
            let (request, sent) = match self.random.below(8) {
                0 => {
                    let id = format!("{}-{}", self.partition, self.random.below(IDS));
                    let request = container.on_item("DELETE", &id).partition(&key);
                    let (tag, status) = (None, None);
                    (request, vec![Sent { id, tag, status }])
                }
                1 => {
                    let mut batch: BTreeMap<String, (Value, Sent)> = BTreeMap::new();
                    for _ in 0..3 {
                        let (document, sent) = self.document();
                        batch.insert(sent.id.clone(), (document, sent));
                    }
                    let operations: Vec<_> = batch
                        .values()
                        .map(|(document, _)| {
                            json!({ "operationType": "Upsert", "resourceBody": document })
                        })
                        .collect();
                    let request = container.batch_request(&key, &json!(operations));
                    let sent = batch.into_values().map(|(_, sent)| sent).collect();
                    (request, sent)
                }
                _ => {
                    let (document, sent) = self.document();
                    let request = container
                        .on_items("POST")
                        .partition(&key)
                        .header("x-ms-documentdb-is-upsert", "true")
                        .json(&document);
                    (request, vec![sent])
                }
            };
            let many = sent.len() > 1 || request_is_batch(&request);
            let answer = container.client().send(request);
            let known = self.sent.len();
            self.sent.extend(sent);
            let Ok(reply) = answer else {
                return;
            };
            assert!([200, 201, 204, 404].contains(&reply.status), "{reply:?}");
            let results = reply.status == 200 && many;
            for (at, sent) in self.sent[known..].iter_mut().enumerate() {
                sent.status = Some(match results {
                    true => status_of(&reply.json()[at]),
                    false => reply.status,
                });
            }
        }
    }
}

fn request_is_batch(request: &Request) -> bool {
    let bytes = request.to_bytes("x");
    String::from_utf8_lossy(&bytes).contains("x-ms-cosmos-is-batch-request")
}

fn status_of(result: &Value) -> u16 {
    u16::try_from(result["statusCode"].as_u64().unwrap()).unwrap()
}

/// Someone who follows the feed, over kills.
struct Reader {
    mode: &'static str,
    partition: Option<String>,
    random: Random,
    begun: u64,
    cursor: String,
    found: Vec<Value>,
}

impl Reader {
    fn request(&self, container: &Container, items_max: usize) -> Request {
        let mut request = container
            .on_items("GET")
            .header("A-IM", self.mode)
            .header("If-None-Match", &self.cursor)
            .header("x-ms-max-item-count", &items_max.to_string());
        if let Some(partition) = &self.partition {
            request = request.partition(&json!([partition]).to_string());
        }
        request
    }

    /// Reads a page; says whether there was one. None if the server is gone: then the page is read again.
    fn page(&mut self, container: &mut Container) -> Option<bool> {
        let items_max = 1 + self.random.below(20);
        let request = self.request(container, items_max);
        let reply = container.client().send(request).ok()?;
        assert!([200, 304].contains(&reply.status), "{reply:?}");
        self.cursor = reply.header("etag").unwrap().to_owned();
        if reply.status == 200 {
            let body = reply.json();
            self.found
                .extend(body["Documents"].as_array().unwrap().iter().cloned());
        }
        Some(reply.status == 200)
    }

    fn run(&mut self, mut container: Container) {
        while let Some(more) = self.page(&mut container) {
            if !more {
                std::thread::sleep(Duration::from_millis(self.random.number() % 10));
            }
        }
    }
}

/// Moves the clock and changes the default until the server is gone.
struct Mover {
    random: Random,
    /// Since when which default is in force.
    eras: Vec<(u64, Option<i64>)>,
}

impl Mover {
    fn run(&mut self, mut container: Container, mut clock: Client) {
        loop {
            if self.random.percent(15) {
                let wanted = *self.random.pick(&DEFAULTS);
                let path = container.path();
                let request = container
                    .client()
                    .request("PUT", &path)
                    .json(&definition(wanted));
                let Ok(reply) = container.client().send(request) else {
                    return;
                };
                assert_eq!(reply.status, 200, "{reply:?}");
                self.note(&reply.json());
            } else {
                let ms = *self.random.pick(&[1, 300, 1000, 2500]);
                let request = clock
                    .request("POST", "/_lapsedb/clock")
                    .json(&json!({ "advanceMillis": ms }))
                    .bearer(lapsedb_testkit::EMULATOR_KEY);
                if clock.send(request).is_err() {
                    return;
                }
            }
            std::thread::sleep(Duration::from_millis(self.random.number() % 8));
        }
    }

    /// Takes note of the definition in force.
    fn note(&mut self, definition: &Value) {
        let default = definition["defaultTtl"].as_i64();
        let last = self.eras.last().unwrap();
        if last.1 != default {
            self.eras
                .push((definition["_ts"].as_u64().unwrap(), default));
        }
    }

    /// The second in which an item that was written so dies, if it does by now.
    fn death(&self, item: &Value, now: u64) -> Option<u64> {
        let written = item["_ts"].as_u64().unwrap();
        let ends = self
            .eras
            .iter()
            .skip(1)
            .map(|(since, _)| *since)
            .chain([now]);
        self.eras
            .iter()
            .zip(ends)
            .find_map(|((since, default), until)| {
                let life = match (default, item["ttl"].as_i64()) {
                    (None, _) | (_, Some(-1)) | (Some(-1), None) => return None,
                    (Some(_), Some(own)) => own,
                    (Some(default), None) => *default,
                };
                let end = written + u64::try_from(life).unwrap();
                (end <= until).then(|| end.max(*since))
            })
    }
}

fn definition(default: Option<i64>) -> Value {
    let mut body = json!({
        "id": "c",
        "partitionKey": { "paths": ["/pk"], "kind": "Hash", "version": 2 },
        "changeFeedPolicy": { "retentionDuration": 100_000 },
    });
    if let Some(default) = default {
        body["defaultTtl"] = json!(default);
    }
    body
}

struct Everybody {
    writers: Vec<Writer>,
    readers: Vec<Reader>,
    mover: Mover,
}

impl Everybody {
    /// Lets all of them run, and kills the server under them.
    fn cycle(&mut self, server: &mut Server, run_ms: u64) {
        let container = |server: &Server| server.existing("d", "c", "/pk");
        let (mover, clock) = (container(server), server.client());
        let writers: Vec<_> = self.writers.iter().map(|_| container(server)).collect();
        let readers: Vec<_> = self.readers.iter().map(|_| container(server)).collect();
        std::thread::scope(|scope| {
            for (writer, container) in self.writers.iter_mut().zip(writers) {
                scope.spawn(move || writer.run(container));
            }
            for (reader, container) in self.readers.iter_mut().zip(readers) {
                scope.spawn(move || reader.run(container));
            }
            scope.spawn(|| self.mover.run(mover, clock));
            std::thread::sleep(Duration::from_millis(run_ms));
            server.kill();
        });
        server.restart();
        // A change of the default may have been made although nobody heard of it.
        let mut client = server.client();
        let request = client.request("GET", "/dbs/d/colls/c");
        self.mover.note(&client.must(request).json());
    }

    /// One more reader, of any kind, from now on.
    fn join(&mut self, server: &Server, random: &mut Random) {
        let mut container = server.existing("d", "c", "/pk");
        let mut reader = Reader {
            mode: match random.percent(60) {
                true => VERSIONS,
                false => LATEST,
            },
            partition: random
                .percent(40)
                .then(|| format!("w{}", random.below(WRITERS))),
            random: Random::new(random.number()),
            begun: 0,
            cursor: "*".to_owned(),
            found: Vec::new(),
        };
        assert_eq!(reader.page(&mut container), Some(false));
        reader.begun = reader.cursor.trim_matches('"').parse().unwrap();
        self.readers.push(reader);
    }
}

fn lsn(event: &Value) -> u64 {
    event["metadata"]["lsn"].as_u64().unwrap()
}

/// The item an event is about: the version after it, or the one that is gone.
fn item(event: &Value) -> &Value {
    match event["metadata"]["operationType"].as_str().unwrap() {
        "delete" => &event["previous"],
        _ => &event["current"],
    }
}

/// The commit that wrote an item: its etag's last sixteen digits.
fn commit(item: &Value) -> u64 {
    let etag = item["_etag"].as_str().unwrap().replace(['"', '-'], "");
    u64::from_str_radix(&etag[etag.len() - 16..], 16).unwrap()
}

/// Each item's events are lives one after the other, each version that of the event before; an expiry names its moment.
/// Gives back whoever lives in the end, with its tag.
fn lives(log: &[Value], mover: &Mover, now: u64) -> BTreeMap<String, u64> {
    let mut living: BTreeMap<String, &Value> = BTreeMap::new();
    let mut expiries = 0;
    for event in log {
        let metadata = &event["metadata"];
        let id = item(event)["id"].as_str().unwrap().to_owned();
        let before = living.get(&id).copied();
        match metadata["operationType"].as_str().unwrap() {
            "create" => {
                assert!(
                    before.is_none(),
                    "{id} is made although it lives: {before:?}\n{event}\n{:?}",
                    mover.eras
                );
                living.insert(id, &event["current"]);
            }
            "replace" => {
                let lsn = metadata["previousImageLSN"].as_u64().unwrap();
                assert_eq!(before.map(commit), Some(lsn), "{event}");
                living.insert(id, &event["current"]);
            }
            _ => {
                assert_eq!(before, Some(&event["previous"]), "{event}");
                let expired = metadata["timeToLiveExpired"].as_bool().unwrap();
                let died = mover.death(&event["previous"], now);
                if expired {
                    expiries += 1;
                    assert_eq!(metadata["crts"].as_u64(), died, "{event} {:?}", mover.eras);
                } else {
                    let crts = metadata["crts"].as_u64().unwrap();
                    assert!(died.is_none_or(|died| died >= crts), "{event} had expired");
                }
                living.remove(&id);
            }
        }
    }
    assert!(expiries > 0, "nothing has expired: the test shows nothing");
    for (id, item) in &living {
        assert_eq!(mover.death(item, now), None, "{id} has died untold");
    }
    let tag = |item: &Value| item["tag"].as_u64().unwrap();
    living
        .into_iter()
        .map(|(id, item)| (id, tag(item)))
        .collect()
}

/// What a writer sent is there once and in order if it was acknowledged, once or never if it was not.
fn compare(writer: &Writer, log: &[Value]) {
    let mine = |event: &&Value| item(event)["pk"] == json!(writer.partition);
    let wrote = |event: &&Value| event["metadata"]["timeToLiveExpired"] == json!(false);
    let told: Vec<_> = log.iter().filter(mine).filter(wrote).collect();
    // How many events what was sent so far may account for: a delete that nobody heard of may have been made or not.
    let mut possible = BTreeSet::from([0]);
    for sent in &writer.sent {
        let accounted = possible
            .iter()
            .filter(|at| told.get(**at).is_some_and(|event| fits(sent, event)))
            .map(|at| at + 1)
            .collect();
        match sent.status {
            Some(200 | 201 | 204) => possible = accounted,
            Some(_) => {}
            None => possible.extend::<BTreeSet<_>>(accounted),
        }
        assert!(
            !possible.is_empty(),
            "{sent:?} of {} is lost",
            writer.partition
        );
    }
    let all = possible.contains(&told.len());
    assert!(all, "more was told of {} than it sent", writer.partition);
}

/// Whether an event may be that of a write.
fn fits(sent: &Sent, event: &Value) -> bool {
    let kind = event["metadata"]["operationType"].as_str().unwrap();
    let as_answered = match sent.status {
        Some(201) => kind == "create",
        Some(200) => kind == "replace",
        Some(204) => kind == "delete",
        Some(_) => false,
        None => sent.tag.is_some() == (kind != "delete"),
    };
    let tag = event["current"].get("tag").and_then(Value::as_u64);
    as_answered && tag == sent.tag && item(event)["id"] == json!(sent.id)
}

/// A reader of all versions has found what the log holds behind its start; one of latest versions has the newest of all.
fn check_reader(reader: &Reader, log: &[Value], living: &BTreeMap<String, u64>) {
    let inside = |item: &Value| {
        let partition = reader.partition.as_ref();
        partition.is_none_or(|partition| item["pk"] == json!(partition))
    };
    if reader.mode == VERSIONS {
        let wanted: Vec<_> = log
            .iter()
            .filter(|event| lsn(event) > reader.begun && inside(item(event)))
            .cloned()
            .collect();
        assert_eq!(reader.found.len(), wanted.len());
        assert!(reader.found == wanted, "a reader found something else");
        return;
    }
    let mut newest: BTreeMap<&str, u64> = BTreeMap::new();
    let mut last = 0;
    for item in &reader.found {
        let (place, tag) = (
            item["_lsn"].as_u64().unwrap(),
            item["tag"].as_u64().unwrap(),
        );
        assert!(place >= last && place > reader.begun, "out of order");
        last = place;
        let before = newest.insert(item["id"].as_str().unwrap(), tag);
        assert!(before.is_none_or(|before| before < tag), "twice: {item}");
    }
    for event in log.iter().filter(|event| lsn(event) > reader.begun) {
        let current = &event["current"];
        let id = current["id"].as_str().unwrap_or_default();
        let tag = current["tag"].as_u64();
        if inside(current) && tag.is_some() && tag == living.get(id).copied() {
            assert_eq!(newest.get(id).copied(), tag, "{id} was passed over");
        }
    }
}

fn cycles() -> u64 {
    let wanted = std::env::var("LAPSEDB_KILL_CYCLES").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(CYCLES)
}

#[test]
fn kill_under_writers_and_readers_loses_no_change() {
    let options = Options::new(Engine::Disk).flag("--purge-grace").flag("1");
    let mut server = Server::start(&options);
    server.database("d");
    let mut client = server.client();
    let request = client
        .request("POST", "/dbs/d/colls")
        .json(&definition(Some(3)));
    let made = client.must(request);
    assert_eq!(made.status, 201, "{made:?}");
    let writer = |number: usize| Writer {
        partition: format!("w{number}"),
        random: Random::new(number as u64),
        tags: 0,
        sent: Vec::new(),
    };
    let mut random = Random::new(11);
    let mut all = Everybody {
        writers: (0..WRITERS).map(writer).collect(),
        readers: Vec::new(),
        mover: Mover {
            random: Random::new(random.number()),
            eras: vec![(0, Some(3))],
        },
    };
    let witness = Reader {
        mode: VERSIONS,
        partition: None,
        random: Random::new(random.number()),
        begun: 0,
        cursor: "\"0\"".to_owned(),
        found: Vec::new(),
    };
    for _ in 0..cycles() {
        for _ in 0..2 {
            all.join(&server, &mut random);
        }
        let run_ms = RUN_MS.0 + random.number() % (RUN_MS.1 - RUN_MS.0);
        all.cycle(&mut server, run_ms);
    }
    let mut container = server.existing("d", "c", "/pk");
    for reader in &mut all.readers {
        while reader.page(&mut container) == Some(true) {}
    }
    let mut witness = witness;
    while witness.page(&mut container) == Some(true) {}
    let log = witness.found;
    assert!(log.is_sorted_by_key(lsn));
    let now = server.now_ms() / 1000;
    let living = lives(&log, &all.mover, now);
    let there: BTreeMap<_, _> = container
        .all()
        .iter()
        .map(|item| {
            (
                item["id"].as_str().unwrap().to_owned(),
                item["tag"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(there, living, "who lives by the feed, and who lives");
    for writer in &all.writers {
        compare(writer, &log);
    }
    for reader in &all.readers {
        check_reader(reader, &log, &living);
    }
    container.check_counts();
    let expired = log
        .iter()
        .filter(|event| event["metadata"]["timeToLiveExpired"] == json!(true));
    println!(
        "{} events, {} of them expiries, over {} kills",
        log.len(),
        expired.count(),
        cycles()
    );
}
