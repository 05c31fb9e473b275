//! An image that follows the changes is the one that is read whole, whoever has made them and however late it comes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use lapsedb_kv::{Batch, Engine, Scan, Snapshot, Space, Template};
use lapsedb_record::{Policy, Secs, Setting};
use lapsedb_value::{Object, Value, json};
use proptest::prelude::*;
use tempfile::TempDir;

use super::cache::{CatalogCache, Image};
use super::changes::{CHANGES_KEPT, Position};
use super::*;
use crate::index::build::Build;
use crate::keys::{self, MetaKind};
use crate::view::{EngineSnapshot, View};
use crate::{MetaChange, OpenOptions, Place, Store, Watched};

const RETENTION: Secs = Secs(100);
const NAMES: [&str; 5] = ["a", "b", "c", "A", "bb"];

fn options(place: Place) -> OpenOptions {
    OpenOptions {
        place,
        relaxed: true,
        virtual_clock: true,
        accept_clock: false,
    }
}

/// A process that uses the engine: with an image of its own.
#[derive(Default)]
struct Process(CatalogCache);

impl Process {
    async fn view(&self, store: &Store) -> View {
        let known = self.0.known();
        let snapshot = store.engine().snapshot().await.unwrap();
        let catalog = self.0.at(&known, &snapshot, None).await.unwrap();
        View::new(store.views.enter(), snapshot, catalog)
    }
}

/// What a snapshot's catalog is, read whole.
async fn whole(snapshot: &impl Snapshot) -> Vec<String> {
    let at = Position::of(snapshot).await.unwrap();
    let read = Catalog::load(snapshot, at, Arc::default(), None).await;
    read.unwrap().described()
}

fn body(cid: u32, database: u32, id: &str, kinds: u8) -> Object {
    let text = r#"{"id":"c","partitionKey":{"paths":["/_id"],"kind":"Hash","version":2}}"#;
    let document = json::parse(text.as_bytes(), &json::Limits::default()).unwrap();
    let setting = match kinds & 1 {
        0 => Setting::Off,
        _ => Setting::OnWithDefault(Secs(9)),
    };
    let mongo = Object::new();
    let body = CollectionBody {
        cid: CollectionId(cid),
        database,
        id,
        document: document.as_object().unwrap().clone(),
        index_generation: FIRST_INDEX_GENERATION + u32::from(kinds >> 3 & 1),
        policy: Policy::new(setting),
        mongo: Some(&mongo).filter(|_| kinds & 2 != 0),
        history: History {
            kept: kinds & 4 != 0,
            retention: Some(RETENTION),
            ..History::default()
        },
        indexes: None,
    };
    body.into_object()
}

/// One change of the catalog, or a look at it, by numbers that mean something in the catalog of the moment.
#[derive(Clone, Copy, Debug)]
struct Step {
    by_other: bool,
    kind: u8,
    a: u8,
    b: u8,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<bool>(), 0..16_u8, any::<u8>(), any::<u8>());
    let step = step.prop_map(|(by_other, kind, a, b)| Step {
        by_other,
        kind,
        a,
        b,
    });
    proptest::collection::vec(step, 1..60)
}

fn nth<T: Clone>(all: &[T], number: u8) -> Option<T> {
    all.get(usize::from(number) % all.len().max(1)).cloned()
}

fn name(number: u8) -> &'static str {
    NAMES[usize::from(number) % NAMES.len()]
}

/// What a step changes; nothing, if there is nothing to change so.
fn change(catalog: &Catalog, step: Step) -> Option<MetaChange> {
    let mut change = MetaChange::default();
    let Step { a, b, .. } = step;
    let next = catalog.next;
    let database = nth(&catalog.databases(), a);
    let collection = nth(&catalog.all_collections(), a);
    let put = |change: &mut MetaChange, cid: CollectionId, database: u32, id: &str| {
        let key = keys::meta_numbered(MetaKind::Collection, cid.0);
        change.put(key, body(cid.0, database, id, b));
    };
    match step.kind {
        0 | 1 => {
            let key = keys::meta_numbered(MetaKind::Database, next);
            catalog.database(name(b)).is_none().then_some(())?;
            change.put(key, database_body(next, name(b))).next(next + 1);
        }
        2..=4 => {
            let database = database?.number;
            let id = format!("{}{}", name(b), a % 3);
            catalog.collection(database, &id).is_none().then_some(())?;
            put(&mut change, CollectionId(next), database, &id);
            change.next(next + 1);
        }
        5 => drop(change.drop_collection(collection?.cid)),
        6 => {
            // A new name, of one that is there or not.
            let own = collection?;
            let id = format!("{}{}", name(b), b % 3);
            match catalog.collection(own.database, &id) {
                Some(other) if other.cid == own.cid => return None,
                Some(other) => drop(change.drop_collection(other.cid)),
                None => {}
            }
            put(&mut change, own.cid, own.database, &id);
        }
        7 => {
            // Two change names.
            let own = collection?;
            let other = nth(&catalog.collections(own.database), b)?;
            put(&mut change, own.cid, own.database, &other.id);
            put(&mut change, other.cid, own.database, &own.id);
        }
        8 => {
            let database = database?;
            for collection in catalog.collections(database.number) {
                change.drop_collection(collection.cid);
            }
            for offer in catalog.offers_in(database.number) {
                change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
            }
            let views = keys::meta_owned(MetaKind::View, u64::from(database.number));
            change.delete_prefix(views);
            change.delete(keys::meta_numbered(MetaKind::Database, database.number));
        }
        9 => {
            let own = collection?;
            let of = Some(own.cid).filter(|_| b & 1 == 0);
            let number = catalog.offer_of(own.database, of).map(|it| it.number);
            let number = number.unwrap_or(next);
            let body = offer_body(number, own.database, of, Object::new());
            change.put(keys::meta_numbered(MetaKind::Offer, number), body);
            change.next(next.max(number + 1));
        }
        10 => {
            let offer = nth(&catalog.offers(), a)?;
            change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
        }
        11 => {
            let database = database?.number;
            let key = keys::meta_named(MetaKind::View, u64::from(database), name(b));
            match catalog.view(database, name(b)) {
                Some(_) if b & 1 == 0 => drop(change.delete(key)),
                Some(_) | None => {
                    let body = view_body(database, name(b), None, Object::new());
                    change.put(key, body);
                }
            }
        }
        12 => {
            let own = collection?;
            let build = Build::read(&MetaRecord {
                lsn: 0,
                written: Secs(0),
                at: Millis(0),
                body: built(own.index_generation, b & 1 == 0),
            });
            assert!(build.is_ok());
            let key = keys::meta_numbered(MetaKind::IndexBuild, own.cid.0);
            change.put(key, built(own.index_generation, b & 1 == 0));
        }
        // What no image holds moves the epoch all the same.
        _ => drop(change.put(keys::meta_named(MetaKind::User, 1, name(b)), Object::new())),
    }
    Some(change)
}

fn built(generation: u32, whole: bool) -> Object {
    let mut body = Object::new();
    body.push("generation", Value::Int64(i64::from(generation)));
    body.push("whole", Value::Bool(whole));
    for name in ["until", "after", "done", "total"] {
        body.push(name, Value::Int64(0));
    }
    body
}

/// A snapshot that somebody holds, and what was known before it was taken.
struct Held {
    known: [Arc<Image>; 2],
    snapshot: EngineSnapshot,
    whole: Vec<String>,
}

async fn run(steps: Vec<Step>) {
    let store = Store::open(options(Place::Memory)).await.unwrap();
    let processes = [Process::default(), Process::default()];
    let mut held = Vec::new();
    for step in steps {
        let process = &processes[usize::from(step.by_other)];
        match step.kind {
            13 => {
                let known = [0, 1].map(|at| Arc::clone(&processes[at].0.known()));
                let snapshot = store.engine().snapshot().await.unwrap();
                let whole = whole(&snapshot).await;
                held.push(Held {
                    known,
                    snapshot,
                    whole,
                });
            }
            14 => {
                // Watches and kept versions begin and end through the store, which has an image of its own.
                let names = (name(step.a), name(step.b));
                let watched = match step.b % 3 {
                    0 => Watched::Everything,
                    1 => Watched::Database(names.0),
                    _ => Watched::Collection(names.0, names.1),
                };
                store.watch(watched, RETENTION).await.unwrap();
                store.clock().advance(u64::from(step.a) * 500).unwrap();
                let view = process.view(&store).await;
                let _ = store.end_watches(&view).await;
                let view = process.view(&store).await;
                let _ = store.clear_graves(&view).await;
            }
            _ => {
                let view = process.view(&store).await;
                if let Some(change) = change(view.catalog(), step) {
                    store.change_catalog(&view, change).await.unwrap();
                }
            }
        }
        let view = process.view(&store).await;
        assert_eq!(view.catalog().described(), whole(&view.snapshot).await);
        let own = store.view().await.unwrap();
        assert_eq!(own.catalog().described(), view.catalog().described());
    }
    for held in held {
        for (process, known) in processes.iter().zip(&held.known) {
            let catalog = process.0.at(known, &held.snapshot, None).await.unwrap();
            assert_eq!(catalog.described(), held.whole, "an old snapshot");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn an_image_that_follows_the_changes_is_the_one_that_is_read_whole(steps in steps()) {
        lapsedb_testkit::run(run(steps));
    }
}

/// Makes collections one by one, in one database, from a number on.
async fn make(store: &Store, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let view = store.view().await.unwrap();
        let mut change = MetaChange::default();
        let key = keys::meta_numbered(MetaKind::Database, 1);
        change.put(key, database_body(1, "d"));
        let key = keys::meta_numbered(MetaKind::Collection, number);
        change.put(key, body(number, 1, &format!("c{number}"), 2));
        change.next(number + 1);
        store.change_catalog(&view, change).await.unwrap();
    }
}

/// Makes the store one that an older version has written last: without notes of what has changed.
async fn forget_notes(store: &Store) {
    let mut batch = Batch::new();
    let epoch = store.view().await.unwrap().catalog().epoch;
    let value = Template::from(epoch.to_be_bytes().to_vec());
    batch.put(Space::Meta, Template::from(keys::EPOCH), value);
    for change in 0..u64::from(CHANGES_KEPT) {
        batch.delete(Space::Meta, keys::catalog_change(change, CHANGES_KEPT));
    }
    store.engine().commit(batch).await.unwrap();
}

async fn described(store: &Store) -> Vec<String> {
    let view = store.view().await.unwrap();
    let described = view.catalog().described();
    assert_eq!(described, whole(&view.snapshot).await);
    described
}

#[test]
fn a_restart_and_a_store_without_notes_give_the_same_catalog() {
    lapsedb_testkit::run(async {
        let folder = TempDir::new().unwrap();
        let place = Place::Disk(folder.path().to_path_buf());
        let open = || Store::open(options(place.clone()));
        let store = open().await.unwrap();
        make(&store, 2..60).await;
        let before = described(&store).await;
        store.close().await.unwrap();
        drop(store);
        let store = open().await.unwrap();
        assert_eq!(described(&store).await, before);
        forget_notes(&store).await;
        store.close().await.unwrap();
        drop(store);
        let store = open().await.unwrap();
        // But for the number of the last change, which the older version does not know.
        assert_eq!(described(&store).await[1..], before[1..]);
        make(&store, 60..100).await;
        assert_eq!(store.view().await.unwrap().catalog().collections_in(1), 98);
        described(&store).await;
        store.close().await.unwrap();
    });
}

#[test]
fn a_change_that_left_no_note_is_seen() {
    lapsedb_testkit::run(async {
        let store = Store::open(options(Place::Memory)).await.unwrap();
        make(&store, 2..5).await;
        let other = Process::default();
        other.view(&store).await;
        make(&store, 5..7).await;
        // The changes are there, and nothing says which they are.
        forget_notes(&store).await;
        let view = other.view(&store).await;
        assert_eq!(view.catalog().collections_in(1), 5);
        assert_eq!(view.catalog().described(), whole(&view.snapshot).await);
    });
}

/// The keys that a store has in a space, but for notes of changes, which are always as many.
async fn keys_in(store: &Store, space: Space) -> Vec<Vec<u8>> {
    let snapshot = store.engine().snapshot().await.unwrap();
    let page = snapshot.scan(Scan::prefix(space, &[])).await.unwrap();
    let notes = keys::meta_all(MetaKind::Change);
    let keys = page.rows.into_iter().map(|(key, _)| key.to_vec());
    keys.filter(|key| space != Space::Meta || !key.starts_with(&notes))
        .collect()
}

#[test]
fn watched_and_dropped_collections_leave_nothing_after_their_retention() {
    lapsedb_testkit::run(async {
        let store = Store::open(options(Place::Memory)).await.unwrap();
        make(&store, 2..3).await;
        let before = keys_in(&store, Space::Meta).await;
        let many = 250;
        make(&store, 3..many).await;
        for number in 3..many {
            let name = format!("c{number}");
            let watched = Watched::Collection("d", &name);
            store.watch(watched, RETENTION).await.unwrap();
            let cid = CollectionId(number);
            let kept = store.keep_versions_for(cid, Some(RETENTION)).await;
            kept.unwrap();
            let view = store.view().await.unwrap();
            let mut drop = MetaChange::default();
            drop.drop_collection(cid);
            store.change_catalog(&view, drop).await.unwrap();
        }
        for cid in store.pending_drops(usize::MAX).await.unwrap() {
            store.drop_data(cid).await.unwrap();
        }
        let graves = store.view().await.unwrap().catalog().graves();
        assert_eq!(graves.len(), 247, "their changes can be read");
        assert_eq!(
            store
                .view()
                .await
                .unwrap()
                .catalog()
                .graves_in("d", Some("c9"))
                .len(),
            1
        );
        store.clock().advance((RETENTION.0 + 2) * 1000).unwrap();
        // As the ticks do, each a number of them.
        for _ in 0..3 {
            let view = store.view().await.unwrap();
            store.clear_graves(&view).await.unwrap();
            let view = store.view().await.unwrap();
            store.end_watches(&view).await.unwrap();
        }
        assert!(store.view().await.unwrap().catalog().graves().is_empty());
        let left = keys_in(&store, Space::Meta).await;
        assert_eq!(left, before);
        // What has become of collections is kept as long as the longest watch, and where nobody watches, for a week.
        store.clock().advance(8 * 86_400_000).unwrap();
        store.trim_catalog_log().await.unwrap();
        assert!(keys_in(&store, Space::Versions).await.is_empty());
        described(&store).await;
    });
}

#[test]
fn what_a_change_reads_depends_on_the_change_alone() {
    lapsedb_testkit::run(async {
        let mut costs = Vec::new();
        for many in [10, 2000] {
            let store = Store::open(options(Place::Memory)).await.unwrap();
            make(&store, 2..many).await;
            described(&store).await;
            let before = store.catalog_work();
            make(&store, many..many + 5).await;
            let view = store.view().await.unwrap();
            let mut drop = MetaChange::default();
            drop.drop_collection(CollectionId(many));
            store.change_catalog(&view, drop).await.unwrap();
            store.view().await.unwrap();
            let after = store.catalog_work();
            costs.push((after.0 - before.0, after.1 - before.1));
        }
        assert_eq!(costs[0], costs[1]);
        assert!(costs[0].0 > 0, "something was read");
    });
}
