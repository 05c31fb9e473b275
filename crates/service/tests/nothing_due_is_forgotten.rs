//! Work between requests, figures and streams look only at collections that changed or are due. Whatever is written, changed, dropped
//! or restarted, and whether or not anybody asks meanwhile: figures are as counted by a model, each insert and each expiry is one
//! event, all that has expired is purged, and what nobody reads any more is removed.

use std::collections::BTreeMap;
use std::path::Path;

use lapsedb_kv::Space;
use lapsedb_service::documents::{self, IndexChange, Insert, Namespace, WhichIndexes, Work};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::{Place, collections};
use lapsedb_testkit::Random;
use lapsedb_value::{Object, Value};

use crate::support::mongo::{Client, Stream};
use crate::support::{ALWAYS, Bench, object, partition, stored};

const ROUNDS: u64 = 14;
const STEPS: u64 = 12;
const NAMES: usize = 5;
const DATABASES: [&str; 2] = ["d", "e"];
/// Longer than two retentions of change streams, in milliseconds.
const FORGOTTEN_MS: u64 = 15 * 24 * 60 * 60 * 1000;
/// Looks of the background work within which all that is due must be done.
const TICKS_MAX: usize = 200;

/// A document with the time in which its TTL index counts from.
struct Dated {
    id: i64,
    at: u64,
}

#[derive(Default)]
struct Documents {
    /// Seconds of the TTL index, if there is one.
    life: Option<u64>,
    live: Vec<Dated>,
}

struct Item {
    written: u64,
    ttl: Option<i64>,
}

#[derive(Default)]
struct Container {
    default: Option<i64>,
    live: Vec<Item>,
}

#[derive(Default)]
struct Model {
    documents: BTreeMap<(usize, String), Documents>,
    containers: BTreeMap<String, Container>,
    /// What a stream tells, sorted.
    events: Vec<(String, i64)>,
    next: i64,
    /// Each transaction has a session of its own.
    sessions: u8,
}

fn namespace((database, name): &(usize, String)) -> Namespace {
    Namespace::pseudo(DATABASES[*database], name)
}

impl Model {
    /// Ends what has expired by now.
    fn expire(&mut self, bench: &Bench) {
        let now = bench.service.clock().now().0;
        for held in self.documents.values_mut() {
            let Some(life) = held.life else { continue };
            let events = &mut self.events;
            held.live.retain(|document| {
                let lives = document.at + life * 1000 > now;
                if !lives {
                    events.push(("delete".to_owned(), document.id));
                }
                lives
            });
        }
        for container in self.containers.values_mut() {
            let default = container.default;
            container.live.retain(|item| {
                let ttl = default.map_or(-1, |default| item.ttl.unwrap_or(default));
                u64::try_from(ttl).is_err() || item.written + ttl.unsigned_abs() > now / 1000
            });
        }
    }

    fn any(&self, random: &mut Random) -> Option<(usize, String)> {
        let at = random.below(self.documents.len());
        self.documents.keys().nth(at).cloned()
    }

    fn id(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    /// A document for some collection; noted as inserted.
    fn document(&mut self, bench: &Bench, random: &mut Random) -> ((usize, String), Object) {
        let place = (random.below(2), format!("c{}", random.below(NAMES)));
        let id = self.id();
        let at = bench.service.clock().now().0 + 1000 * (random.number() % 30) + 500;
        let mut document = object(&format!(r#"{{"_id":{id}}}"#));
        document.push("at", Value::Date(i64::try_from(at).unwrap()));
        let held = self.documents.entry(place.clone()).or_default();
        held.live.push(Dated { id, at });
        self.events.push(("insert".to_owned(), id));
        (place, document)
    }

    /// Inserts a document, or several of several collections in a transaction.
    async fn insert(&mut self, bench: &Bench, random: &mut Random) {
        self.sessions += 1;
        let mut client = Client::new(bench, self.sessions);
        let together = random.below(4) == 0;
        if together {
            client.start();
        }
        for _ in 0..if together { 3 } else { 1 } {
            let (place, document) = self.document(bench, random);
            let mut work = client.work().await.unwrap();
            let insert = Insert {
                documents: vec![document.into()],
                ordered: true,
            };
            let wrote = documents::insert(&mut work, &namespace(&place), insert).await;
            assert_eq!(work.end_writes(wrote).await.unwrap().n, 1);
        }
        if together {
            client.commit().await.unwrap();
        }
        self.expire(bench);
    }

    /// Makes, changes or drops a TTL index.
    async fn index(&mut self, bench: &Bench, random: &mut Random) {
        let Some(place) = self.any(random) else {
            return;
        };
        let mut work = Work::new(bench.ctx.clone());
        let (life, on) = (random.number() % 20, namespace(&place));
        let held = self.documents.get_mut(&place).unwrap();
        match (held.life.is_some(), random.below(3)) {
            (false, _) => {
                let spec =
                    format!(r#"{{"key":{{"at":1}},"name":"at","expireAfterSeconds":{life}}}"#);
                let made = documents::create_indexes(&mut work, &on, vec![object(&spec)]).await;
                made.unwrap();
                held.life = Some(life);
            }
            (true, 0) => {
                let which = WhichIndexes::Named(vec!["at".to_owned()]);
                documents::drop_indexes(&mut work, &on, &which)
                    .await
                    .unwrap();
                held.life = None;
            }
            (true, _) => {
                let change = IndexChange {
                    name: Some("at".to_owned()),
                    expire_after: Some(Value::Int64(i64::try_from(life).unwrap())),
                    ..IndexChange::default()
                };
                documents::change_index(&mut work, &on, &change)
                    .await
                    .unwrap();
                held.life = Some(life);
            }
        }
        self.expire(bench);
    }

    /// Drops or renames a collection, or drops a database.
    async fn structure(&mut self, bench: &Bench, random: &mut Random) {
        let Some(place) = self.any(random) else {
            return;
        };
        let mut work = Work::new(bench.ctx.clone());
        match random.below(5) {
            0 | 1 => {
                let dropped = documents::drop_collection(&mut work, &namespace(&place)).await;
                assert_ne!(dropped.unwrap(), documents::Dropped::Nothing);
                self.documents.remove(&place);
            }
            2 => {
                let dropped = documents::drop_database(&mut work, DATABASES[place.0]).await;
                assert!(dropped.unwrap());
                self.documents
                    .retain(|(database, _), _| *database != place.0);
            }
            _ => {
                let to = (place.0, format!("c{}", random.below(NAMES)));
                if to == place {
                    return;
                }
                let (from, into) = (namespace(&place), namespace(&to));
                documents::rename(&mut work, &from, &into, true)
                    .await
                    .unwrap();
                let held = self.documents.remove(&place).unwrap();
                self.documents.insert(to, held);
            }
        }
    }

    /// Writes an item, changes a default, or drops a container.
    async fn container(&mut self, bench: &Bench, random: &mut Random) {
        let name = format!("n{}", random.below(NAMES));
        let default = [None, Some(-1), Some(3), Some(9)][random.below(4)];
        if !self.containers.contains_key(&name) {
            bench.collection("n", &name, default).await;
            let container = Container {
                default,
                ..Container::default()
            };
            self.containers.insert(name.clone(), container);
        }
        let id = self.id();
        let container = self.containers.get_mut(&name).unwrap();
        match random.below(8) {
            0 => {
                let dropped = collections::delete(&bench.ctx, ("n", &name), &ALWAYS).await;
                dropped.unwrap();
                self.containers.remove(&name);
            }
            1 | 2 => {
                bench.set_ttl("n", &name, default).await.unwrap();
                container.default = default;
            }
            _ => {
                let ttl = [None, None, Some(-1), Some(5)][random.below(4)];
                let own = ttl.map_or_else(String::new, |ttl| format!(r#","ttl":{ttl}"#));
                let body = object(&format!(r#"{{"id":"{id}","pk":"p"{own}}}"#));
                let op = ItemOp {
                    action: Action::Upsert(Document::new(body).unwrap()),
                    partition: Some(partition()),
                    if_match: None,
                    if_none_match: None,
                    minimal: false,
                };
                let ran = items::run(&bench.ctx, ("n", &name), None, &[op], Mode::Each).await;
                ran.unwrap().results.into_iter().next().unwrap().unwrap();
                let written = bench.service.clock().now().0 / 1000;
                container.live.push(Item { written, ttl });
            }
        }
        self.expire(bench);
    }

    async fn step(&mut self, bench: &Bench, random: &mut Random) {
        match random.below(16) {
            0..=4 => Box::pin(self.insert(bench, random)).await,
            5 | 6 => Box::pin(self.index(bench, random)).await,
            7 => Box::pin(self.structure(bench, random)).await,
            8..=11 => Box::pin(self.container(bench, random)).await,
            12 | 13 => drop(Box::pin(bench.service.tick()).await),
            14 => Box::pin(self.compare(bench)).await,
            _ => {
                let seconds = [1, 3, 12, 4000][random.below(4)];
                bench.service.clock().advance(seconds * 1000).unwrap();
                self.expire(bench);
            }
        }
    }

    /// Holds the figures to the model.
    async fn compare(&self, bench: &Bench) {
        let documents = self.documents.values().map(|held| held.live.len());
        let items = self.containers.values().map(|held| held.live.len());
        let live = documents.chain(items).sum::<usize>() as u64;
        assert_eq!(bench.service.gauges().await.unwrap().items_live, live);
        let mut work = Work::new(bench.ctx.clone());
        for (number, database) in DATABASES.into_iter().enumerate() {
            let stats = documents::database_stats(&mut work, database).await;
            let total = stats.unwrap().total;
            let own = self.documents.iter().filter(|((of, _), _)| *of == number);
            let own: Vec<_> = own.map(|(_, held)| held).collect();
            let indexes = own.iter().map(|held| 1 + u64::from(held.life.is_some()));
            let live = own.iter().map(|held| held.live.len() as u64);
            assert_eq!(
                (total.collections, total.indexes, total.live.items),
                (own.len() as u64, indexes.sum(), live.sum()),
                "{database}"
            );
            let listed = documents::list_databases(&mut work, true).await.unwrap();
            let bytes = listed.iter().find(|listed| listed.name == database);
            let bytes = bytes.map_or(Some(0), |listed| listed.bytes);
            assert_eq!(bytes, Some(total.live.bytes), "{database}");
        }
    }

    /// Lets the background work do all that is due.
    async fn settle(&mut self, bench: &Bench) {
        for _ in 0..TICKS_MAX {
            Box::pin(bench.service.tick()).await;
            if bench.service.gauges().await.unwrap().items_expired == 0 {
                return;
            }
            bench.service.clock().advance(1000).unwrap();
            self.expire(bench);
        }
        panic!("something that has expired is not purged");
    }
}

/// The collections' events among some: kind and `_id`.
fn shown(events: &[Object]) -> Vec<(String, i64)> {
    let one = |event: &Object| {
        let kind = event.get("operationType").and_then(Value::as_str)?;
        let id = event.get("documentKey")?.get("_id").as_i64()?;
        Some((kind.to_owned(), id))
    };
    events.iter().filter_map(one).collect()
}

fn database(event: &Object) -> Option<String> {
    Some(event.get("ns")?.get("db").as_str()?.to_owned())
}

async fn service(path: &Path) -> Bench {
    let bench = Bench::at(Place::Disk(path.to_path_buf()), true).await;
    bench.at_a_second();
    bench
}

async fn everything<'b>(bench: &'b Bench, way: &str, token: Option<&Object>) -> Stream<'b> {
    let mut options = object(r#"{"allChangesForCluster":true}"#);
    if let Some(token) = token {
        options.push(way, Value::Object(token.clone()));
    }
    Stream::open(bench, "admin", options).await
}

#[test]
fn figures_events_and_purging_are_as_the_model() {
    lapsedb_testkit::run(async {
        for seed in [0x9E37_79B9, 0x51_7CC1, 0x1234_5678_9ABC] {
            Box::pin(run(seed)).await;
        }
    });
}

async fn run(seed: u64) {
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(seed);
    let mut bench = service(folder.path()).await;
    bench.database("n").await;
    let mut model = Model::default();
    let (mut seen, mut first, mut token) = (Vec::new(), None, None);
    for round in 0..ROUNDS {
        println!("round {round}");
        let way = ["resumeAfter", "startAfter"][usize::try_from(round % 2).unwrap()];
        let stream = everything(&bench, way, token.as_ref()).await;
        if first.is_none() {
            first = Some(stream.drain().await.1);
        }
        for _ in 0..STEPS {
            Box::pin(model.step(&bench, &mut random)).await;
        }
        let (events, place) = stream.drain().await;
        seen.extend(events);
        token = Some(place);
        let mut told = shown(&seen);
        told.sort_unstable();
        model.events.sort_unstable();
        assert_eq!(told, model.events, "each once");
        Box::pin(model.compare(&bench)).await;
        // Some of it happens while nobody listens, and some ends a process.
        Box::pin(model.step(&bench, &mut random)).await;
        if random.below(3) == 0 {
            bench.service.close().await.unwrap();
            drop(bench);
            bench = service(folder.path()).await;
            model.expire(&bench);
        }
        if random.below(3) == 0 {
            model.settle(&bench).await;
        }
    }
    Box::pin(parts_are_the_whole(
        &bench,
        seen,
        (first.unwrap(), token.unwrap()),
    ))
    .await;
    Box::pin(end(bench, model, folder.path())).await;
}

/// A stream over each database tells what that over everything does, from the first place on.
async fn parts_are_the_whole(bench: &Bench, mut seen: Vec<Object>, places: (Object, Object)) {
    let (first, token) = places;
    let rest = everything(bench, "resumeAfter", Some(&token)).await;
    seen.extend(rest.drain().await.0);
    for name in DATABASES {
        let mut place = first.clone();
        let mut told = Vec::new();
        loop {
            let mut options = Object::new();
            options.push("startAfter", Value::Object(place));
            let stream = Stream::open(bench, name, options).await;
            let (events, next) = stream.drain_until_ended().await;
            let ended = events.last().and_then(|event| event.get("operationType"));
            let ended = ended.and_then(Value::as_str) == Some("invalidate");
            told.extend(events);
            if !ended {
                break;
            }
            place = next;
        }
        let of = |all: &[Object]| {
            let own = all
                .iter()
                .filter(|one| database(one).as_deref() == Some(name));
            shown(&own.cloned().collect::<Vec<_>>())
        };
        assert_eq!(of(&told), of(&seen), "{name}");
    }
}

/// Nobody reads any more: versions go, and what can expire.
async fn end(bench: Bench, mut model: Model, folder: &Path) {
    for _ in 0..2 {
        bench.service.clock().advance(FORGOTTEN_MS).unwrap();
        model.expire(&bench);
        model.settle(&bench).await;
        for _ in 0..5 {
            Box::pin(bench.service.tick()).await;
        }
    }
    Box::pin(model.compare(&bench)).await;
    bench.service.close().await.unwrap();
    drop(bench);
    let rows = stored(folder).await;
    let versions = rows.keys().filter(|(space, _)| *space == Space::Versions);
    assert_eq!(versions.count(), 0, "versions that nobody reads");
}
