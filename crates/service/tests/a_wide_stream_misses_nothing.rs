//! A change stream over a database looks only at collections that were written to, and yet tells every change of every collection
//! once and in order: of those that are made, renamed and dropped meanwhile, of documents that expire, wherever it is resumed, and
//! after a restart.

use std::collections::BTreeMap;
use std::path::Path;

use lapsedb_service::documents::{self, Work};
use lapsedb_testkit::Random;
use lapsedb_value::{Object, Value};

use crate::support::mongo::{Client, Stream, collection};
use crate::support::{Bench, object};

/// Collections, of which few are written to between two looks.
const MANY: usize = 40;
/// How often a stream is opened, and looks each time.
const OPENED: u64 = 8;
const ROUNDS: u64 = 6;

async fn open<'b>(bench: &'b Bench, token: Option<Object>) -> Stream<'b> {
    let mut options = Object::new();
    if let Some(token) = token {
        options.push("resumeAfter", Value::Object(token));
    }
    Stream::open(bench, "d", options).await
}

fn shown(event: &Object) -> String {
    let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = text("operationType").to_owned();
    let coll = event.get("ns").map(|ns| ns.get("coll").clone());
    let coll = coll.as_ref().and_then(Value::as_str).unwrap_or_default();
    let key = event.get("documentKey").map(|key| key.get("_id").clone());
    let id = key.and_then(|id| id.as_i64());
    let id = id.map_or_else(String::new, |id| id.to_string());
    format!("{kind} {coll} {id}")
}

/// What was done, in order, and what is there.
#[derive(Default)]
struct Model {
    done: Vec<String>,
    /// The documents of each collection.
    held: BTreeMap<String, Vec<i64>>,
    next: i64,
}

impl Model {
    fn any(&self, random: &mut Random) -> Option<String> {
        let at = random.below(self.held.len());
        self.held.keys().nth(at).cloned()
    }

    async fn step(&mut self, bench: &Bench, random: &mut Random) {
        let mut client = Client::new(bench, 1);
        let name = format!("c{}", random.below(MANY));
        self.next += 1;
        let id = self.next;
        match random.below(10) {
            0..=5 => {
                let insert = client.insert(&name, object(&format!(r#"{{"_id":{id}}}"#)));
                assert_eq!(Box::pin(insert).await, Ok(1));
                self.done.push(format!("insert {name} {id}"));
                self.held.entry(name).or_default().push(id);
            }
            6 => {
                let Some(name) = self.any(random) else { return };
                let Some(id) = self.held.get_mut(&name).and_then(Vec::pop) else {
                    return;
                };
                let filter = format!(r#"{{"_id":{id}}}"#);
                let delete = client.delete(&name, &filter);
                assert_eq!(Box::pin(delete).await, Ok(1));
                self.done.push(format!("delete {name} {id}"));
            }
            7 => {
                let Some(name) = self.any(random) else { return };
                self.held.remove(&name);
                let mut work = Work::new(bench.ctx.clone());
                let dropped = documents::drop_collection(&mut work, &collection(&name)).await;
                assert_ne!(dropped.unwrap(), documents::Dropped::Nothing);
                self.done.push(format!("drop {name} "));
            }
            8 => {
                let Some(from) = self.any(random) else { return };
                let to = format!("r{id}");
                let mut work = Work::new(bench.ctx.clone());
                let (old, new) = (collection(&from), collection(&to));
                let renamed = documents::rename(&mut work, &old, &new, false).await;
                renamed.unwrap();
                let held = self.held.remove(&from).unwrap_or_default();
                self.held.insert(to, held);
                self.done.push(format!("rename {from} "));
            }
            _ => {
                bench.service.clock().advance(1500).unwrap();
                Box::pin(bench.service.tick()).await;
            }
        }
    }
}

async fn service(path: &Path) -> Bench {
    Bench::at(lapsedb_service::Place::Disk(path.to_path_buf()), true).await
}

#[test]
fn whatever_happens_and_wherever_it_is_resumed() {
    lapsedb_testkit::run(async {
        for seed in [0x9E37_79B9, 0x1234_5678_9ABC] {
            Box::pin(run(seed)).await;
        }
    });
}

async fn run(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(seed);
    let mut bench = service(folder.path()).await;
    let mut model = Model::default();
    for number in 0..MANY {
        let mut client = Client::new(&bench, 1);
        let name = format!("c{number}");
        let insert = client.insert(&name, object(r#"{"_id":-1}"#));
        Box::pin(insert).await.unwrap();
        model.held.insert(name, vec![-1]);
    }
    let mut seen = Vec::new();
    let mut token = None;
    // Each time the stream is opened anew, of its place; every other time the service is too.
    for opened in 0..OPENED {
        let stream = open(&bench, token.take()).await;
        for round in 0..ROUNDS {
            for _ in 0..random.below(6) {
                Box::pin(model.step(&bench, &mut random)).await;
            }
            let (events, place) = stream.drain().await;
            seen.extend(events.iter().map(shown));
            assert_eq!(seen, model.done, "seed {seed}, {opened}, {round}");
            token = Some(place);
        }
        // Some of it happens while nobody listens.
        Box::pin(model.step(&bench, &mut random)).await;
        if opened % 2 == 1 {
            bench.service.close().await.unwrap();
            drop(bench);
            bench = service(folder.path()).await;
            Box::pin(model.step(&bench, &mut random)).await;
        }
    }
    bench.service.close().await.unwrap();
}

#[test]
fn what_expires_is_told_though_nobody_writes() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        let mut client = Client::new(&bench, 1);
        let now = bench.service.clock().now().0;
        for number in 0..20 {
            let name = format!("c{number}");
            let at = now + 1000 * number;
            let mut document = object(&format!(r#"{{"_id":{number}}}"#));
            document.push("at", Value::Date(i64::try_from(at).unwrap()));
            Box::pin(client.insert(&name, document)).await.unwrap();
            let index = r#"{"key":{"at":1},"name":"at","expireAfterSeconds":10}"#;
            client.indexes(&name, &[index]).await;
        }
        let stream = open(&bench, None).await;
        assert!(stream.drain().await.0.is_empty());
        for second in 0..20 {
            let passed = if second == 0 { 10_000 } else { 1000 };
            bench.service.clock().advance(passed).unwrap();
            let events = stream.drain().await.0;
            let seen: Vec<_> = events.iter().map(shown).collect();
            assert_eq!(seen, [format!("delete c{second} {second}")]);
        }
    });
}
