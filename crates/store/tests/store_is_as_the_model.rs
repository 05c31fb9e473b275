//! Random writes, deletes, changes of the setting, moves of the clock, restarts and purges, on both engines, against the
//! model: some 10^5 of them. In the end everything is deleted, and not a byte of it may be left.

use std::cell::RefCell;
use std::sync::Arc;

use crate::model::steps::{EMAILS, IDS, Meanwhile, PARTITIONS, Step, Write, any_step};
use crate::model::{Item, Model};
use lapsedb_kv::{EngineKind, Scan, Snapshot, Space};
use lapsedb_record::{Millis, Secs, Setting};
use lapsedb_store::catalog::{CollectionBody, FIRST_INDEX_GENERATION, database_body};
use lapsedb_store::index::composite::composite_id;
use lapsedb_store::index::encode::PathId;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{
    Collection, CollectionId, History, ItemKey, ItemRange, MetaChange, OpenOptions, Place, Preview,
    Purged, Recount, ScanLimits, Span, Store, StoreError, Tally, Txn, View, Width,
};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value, json};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tempfile::TempDir;

fn object(text: &str) -> Object {
    let limits = json::Limits {
        depth_max: 128,
        duplicates_refused: &[],
    };
    let value = json::parse(text.as_bytes(), &limits).unwrap();
    value.as_object().unwrap().clone()
}

fn document(partition: u8, write: &Write) -> Object {
    let mut document = Object::new();
    document.push("id", Value::from(format!("i{}", write.id)));
    document.push("pk", Value::from(i32::from(partition)));
    if let Some(ttl) = write.ttl {
        document.push("ttl", Value::number(ttl as f64));
    }
    if let Some(email) = write.email {
        document.push("email", Value::from(i32::from(email)));
    }
    document.push("note", Value::from("n".repeat(write.note)));
    document
}

/// The charged sizes of items, added up.
fn sum<'a>(items: impl IntoIterator<Item = &'a Item>) -> Tally {
    items.into_iter().fold(Tally::default(), |sum, item| Tally {
        items: sum.items + 1,
        bytes: sum.bytes + item.charged,
    })
}

/// How often one write may find that what it had looked at was dropped: once for each thing that is dead.
const DROPS_MAX: u8 = 2 * PARTITIONS * IDS;

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It was committed, or refused as the model says.
    Decided,
    /// It must be decided anew, though nothing that the model knows has changed.
    Groundless,
}

/// A store that can be closed and opened again.
struct Home {
    place: Place,
    store: Option<Store>,
}

impl Home {
    async fn open(place: Place) -> Home {
        let store = Store::open(options(place.clone())).await.unwrap();
        Home {
            place,
            store: Some(store),
        }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    async fn close(&mut self) {
        self.store.take().unwrap().close().await.unwrap();
    }
}

/// A store and a container of it, next to the model of that container.
struct Bench<'a> {
    home: &'a mut Home,
    cid: CollectionId,
    definition: Object,
    /// How often the index policy has changed.
    reindexed: u32,
    model: Model,
}

impl<'a> Bench<'a> {
    async fn new(home: &'a mut Home) -> Bench<'a> {
        let definition = object(
            r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
                "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/email"]}]}}"#,
        );
        let view = home.store().view().await.unwrap();
        let number = view.catalog().next;
        let mut change = MetaChange::default();
        if view.catalog().databases().is_empty() {
            change.put(
                keys::meta_numbered(MetaKind::Database, 1),
                database_body(1, "d"),
            );
        }
        let cid = CollectionId(number + 1);
        let bench = Bench {
            home,
            cid,
            definition,
            reindexed: 0,
            model: Model::new(Setting::OnWithDefault(Secs(5)), view.now().secs().0),
        };
        change.put(
            keys::meta_numbered(MetaKind::Collection, cid.0),
            bench.body(lapsedb_record::Policy::new(bench.model.setting)),
        );
        change.next(number + 1);
        let store = bench.home.store();
        store.change_catalog(&view, change).await.unwrap();
        bench
    }

    /// The definition with the index policy whose turn it is.
    fn document(&self) -> Object {
        let policy = match self.reindexed % 3 {
            0 => {
                r#"{"includedPaths":[{"path":"/*"}],"compositeIndexes":[[{"path":"/email"},{"path":"/note","order":"descending"}]]}"#
            }
            1 => {
                r#"{"includedPaths":[{"path":"/email/?"}],"excludedPaths":[{"path":"/*"}],
                    "compositeIndexes":[[{"path":"/email"},{"path":"/note","order":"descending"}]]}"#
            }
            _ => r#"{"indexingMode":"none","automatic":false}"#,
        };
        let mut document = self.definition.clone();
        document.push("indexingPolicy", Value::Object(object(policy)));
        document
    }

    fn body(&self, policy: lapsedb_record::Policy) -> Object {
        CollectionBody {
            cid: self.cid,
            database: 1,
            id: &format!("c{}", self.cid.0),
            document: self.document(),
            index_generation: FIRST_INDEX_GENERATION + self.reindexed,
            policy,
            mongo: None,
            history: History::default(),
            indexes: None,
        }
        .into_object()
    }

    /// What a request would see now, and the container in it.
    async fn look(&self) -> (View, Arc<Collection>) {
        let view = self.home.store().view().await.unwrap();
        let collection = Arc::clone(view.catalog().collection_numbered(self.cid).unwrap());
        (view, collection)
    }

    fn now(&self) -> u64 {
        self.home.store().clock().now().secs().0
    }

    fn advance(&mut self, ms: u64) {
        self.home.store().clock().advance(ms).unwrap();
        self.model.settle(self.now());
    }

    fn key(collection: &Collection, partition: u8, id: u8) -> (ItemKey, PartitionKey) {
        let partition = PartitionKey::parse(&format!("[{partition}]")).unwrap();
        let key = ItemKey::new(collection, &partition, &format!("i{id}"));
        (key, partition)
    }

    async fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        self.model.settle(self.now());
        match step {
            Step::Put(partition, write) => {
                let writes = [(write.id, Some(write.clone()))];
                self.write(*partition, &writes, &Meanwhile::default())
                    .await?;
            }
            Step::Delete(partition, id) => {
                self.write(*partition, &[(*id, None)], &Meanwhile::default())
                    .await?;
            }
            Step::Batch(partition, writes, meanwhile) => {
                self.write(*partition, writes, meanwhile).await?;
            }
            Step::Change(setting) => self.change(*setting).await?,
            Step::Advance(ms) => self.advance(*ms),
            Step::NextSecond => {
                let now = self.home.store().clock().now().0;
                self.advance(1000 - now % 1000);
            }
            Step::Purge { grace_ms } => self.purge(*grace_ms).await?,
            Step::Sweep => self.sweep().await,
            Step::Forecast(width, buckets) => self.forecast(*width, *buckets).await?,
            Step::Reindex => self.reindex().await,
            Step::Build(items) => {
                let store = self.home.store();
                store.build_index(self.cid, *items).await.unwrap();
            }
            Step::Restart => self.restart().await,
        }
        self.compare().await
    }

    /// Changes the index policy.
    async fn reindex(&mut self) {
        self.reindexed += 1;
        let (view, collection) = self.look().await;
        let mut change = MetaChange::default();
        change.put(
            keys::meta_numbered(MetaKind::Collection, self.cid.0),
            self.body(collection.policy),
        );
        let store = self.home.store();
        store.change_catalog(&view, change).await.unwrap();
        // The grace begins anew, as with every change of the definition.
        let now = self.now();
        self.model.change(self.model.setting, now);
    }

    async fn sweep(&self) {
        while !self.home.store().sweep(self.cid).await.unwrap() {}
    }

    async fn restart(&mut self) {
        if matches!(self.home.place, Place::Disk(_)) {
            self.home.close().await;
            *self.home = Home::open(self.home.place.clone()).await;
        }
    }

    /// Changes the setting. What the preview said before must be what the change then does.
    async fn change(&mut self, setting: Setting) -> Result<(), TestCaseError> {
        let (view, collection) = self.look().await;
        let before = view.usage(&collection).await.unwrap().live;
        let preview = view.preview(&collection, setting).await.unwrap();
        let policy = collection.policy.changed(setting, view.now());
        let mut change = MetaChange::default();
        change.put(
            keys::meta_numbered(MetaKind::Collection, self.cid.0),
            self.body(policy),
        );
        let store = self.home.store();
        store.change_catalog(&view, change).await.unwrap();
        let now = self.now();
        self.model.settle(now);
        let alive_before = sum(self.model.living());
        self.model.change(setting, now);
        let alive_after = sum(self.model.living());
        let ends = |item: &&Item| Model::end(setting, item).is_some();
        let said = Preview {
            at_once: Tally {
                items: alive_before.items - alive_after.items,
                bytes: alive_before.bytes - alive_after.bytes,
            },
            later: sum(self.model.living().into_iter().filter(ends)),
            never: sum(self.model.living().into_iter().filter(|item| !ends(item))),
        };
        prop_assert_eq!(preview, said);
        let (view, collection) = self.look().await;
        let after = view.usage(&collection).await.unwrap().live;
        prop_assert_eq!(before.items - after.items, preview.at_once.items);
        prop_assert_eq!(before.bytes - after.bytes, preview.at_once.bytes);
        Ok(())
    }

    async fn forecast(&mut self, width: Width, buckets: u64) -> Result<(), TestCaseError> {
        let (view, collection) = self.look().await;
        let forecast = view.forecast(&collection, width, buckets).await.unwrap();
        let width = match width {
            Width::Minute => 60,
            Width::Hour => 60 * 60,
            Width::Day => 24 * 60 * 60,
        };
        let first = self.now() / width * width;
        let end = |item: &Item| Model::end(self.model.setting, item);
        for (at, (from, tally)) in (0..buckets).zip(&forecast.buckets) {
            let start = first + at * width;
            let inside = |item: &&Item| end(item).is_some_and(|end| end / width * width == start);
            prop_assert_eq!(*from, Millis(start * 1000));
            prop_assert_eq!(*tally, sum(self.model.living().into_iter().filter(inside)));
        }
        let last = first + buckets * width;
        let after = |item: &&Item| end(item).is_some_and(|end| end >= last);
        let never = |item: &&Item| end(item).is_none();
        prop_assert_eq!(forecast.buckets.len() as u64, buckets);
        prop_assert_eq!(
            forecast.after,
            sum(self.model.living().into_iter().filter(after))
        );
        prop_assert_eq!(
            forecast.never,
            sum(self.model.living().into_iter().filter(never))
        );
        Ok(())
    }

    async fn purge(&mut self, grace_ms: u64) -> Result<(), TestCaseError> {
        let (_, collection) = self.look().await;
        let store = self.home.store();
        let horizon = Millis(store.clock().now().0.saturating_sub(grace_ms));
        let purged = store
            .purge(&collection, Millis(grace_ms), u64::MAX)
            .await
            .unwrap();
        let Tally { items, bytes } = sum(&self.model.purge(horizon.secs().0));
        prop_assert_eq!(purged, Purged { items, bytes });
        Ok(())
    }

    /// One transaction: all of the writes, or none if one is refused or what they relied on has changed meanwhile.
    ///
    /// On disk a compaction may drop what was purged just after a transaction has looked at it: then it is decided anew.
    async fn write(
        &mut self,
        partition: u8,
        writes: &[(u8, Option<Write>)],
        meanwhile: &Meanwhile,
    ) -> Result<(), TestCaseError> {
        let mut outcome = self.try_write(partition, writes, meanwhile).await?;
        for _ in 0..DROPS_MAX {
            if outcome == Outcome::Decided || matches!(self.home.place, Place::Memory) {
                break;
            }
            let nothing = Meanwhile::default();
            outcome = self.try_write(partition, writes, &nothing).await?;
        }
        prop_assert_eq!(outcome, Outcome::Decided, "nothing has changed meanwhile");
        Ok(())
    }

    async fn try_write(
        &mut self,
        partition: u8,
        writes: &[(u8, Option<Write>)],
        meanwhile: &Meanwhile,
    ) -> Result<Outcome, TestCaseError> {
        let (view, collection) = self.look().await;
        let mut txn = Txn::new(&view, &collection);
        let mut staged = self.model.clone();
        for (id, write) in writes {
            let (key, pk) = Self::key(&collection, partition, *id);
            let found = txn.get(&key, &pk).await.unwrap();
            prop_assert_eq!(found.is_some(), staged.live(partition, *id).is_some());
            let Some(write) = write else {
                if found.is_some() {
                    txn.delete(&key, &pk).await.unwrap();
                    staged.delete(partition, *id);
                }
                continue;
            };
            let held = staged.living().iter().any(|item| {
                (item.partition, item.email) == (partition, write.email) && item.id != *id
            });
            let document = document(partition, write);
            let put = txn.put(&key, &pk, Arc::new(document)).await.unwrap();
            prop_assert_eq!(put.is_err(), held, "unique key of {:?}", write);
            if held {
                return Ok(Outcome::Decided);
            }
            staged.put(Item {
                partition,
                id: *id,
                ttl: write.ttl,
                email: write.email,
                note: "n".repeat(write.note),
                written: u64::MAX / 2,
                born: 0,
                charged: 0,
                died: None,
            });
        }
        let alive = |model: &Model, id: &u8| model.live(partition, *id).is_some();
        let relied: Vec<_> = writes.iter().map(|(id, _)| *id).collect();
        let relied: Vec<_> = relied.iter().filter(|id| alive(&self.model, id)).collect();
        self.advance(meanwhile.advance_ms);
        if let Some(setting) = meanwhile.setting {
            self.change(setting).await?;
        }
        let stale = meanwhile.setting.is_some() || !relied.iter().all(|id| alive(&self.model, id));
        let done = match txn.commit(self.home.store()).await {
            Ok(done) => done,
            Err(StoreError::Retry) if stale => return Ok(Outcome::Decided),
            Err(StoreError::Retry) => return Ok(Outcome::Groundless),
            Err(error) => panic!("{error}"),
        };
        prop_assert!(!stale, "it relied on what is gone");
        for item in &mut staged.items {
            let (key, _) = Self::key(&collection, item.partition, item.id);
            if let Some(written) = done.item(&key).unwrap() {
                item.charged = u64::from(written.header().charged);
                item.written = done.now.secs().0;
            }
        }
        self.model = staged;
        self.model.settle(self.now());
        Ok(Outcome::Decided)
    }

    /// Everything that can be read, compared with the model.
    async fn compare(&self) -> Result<(), TestCaseError> {
        let (view, collection) = self.look().await;
        let collection = &collection;
        for partition in 0..PARTITIONS {
            for id in 0..IDS {
                let (key, _) = Self::key(collection, partition, id);
                let read = view.get(collection, &key).await.unwrap();
                let expected = self.model.live(partition, id);
                prop_assert_eq!(read.is_some(), expected.is_some(), "{}/{}", partition, id);
                if let (Some(read), Some(expected)) = (read, expected) {
                    prop_assert_eq!(read.header().written.0, expected.written);
                    let body = lapsedb_value::bson::read_document(read.body()).unwrap();
                    let note = body.get("note").and_then(Value::as_str);
                    prop_assert_eq!(note, Some(expected.note.as_str()));
                    let ordinal = read.header().ordinal;
                    let found = view.key_of(collection, ordinal).await.unwrap();
                    prop_assert_eq!(found, Some(key));
                }
            }
        }
        self.compare_scans().await?;
        self.compare_index().await?;
        let usage = view.usage(collection).await.unwrap();
        let live = sum(self.model.living());
        let expired = sum(self.model.items.iter().filter(|item| item.died.is_some()));
        prop_assert_eq!((usage.live, usage.expired), (live, expired));
        let ends = |item| Model::end(self.model.setting, item);
        let next = self.model.living().into_iter().filter_map(ends).min();
        prop_assert_eq!(usage.next_expiry, next.map(|second| Millis(second * 1000)));
        let counted = Recount {
            live,
            expired,
            buckets_wrong: 0,
        };
        prop_assert_eq!(view.recount(collection).await.unwrap(), counted);
        Ok(())
    }

    async fn compare_scans(&self) -> Result<(), TestCaseError> {
        let (_, collection) = self.look().await;
        let collection = &collection;
        let living = self.model.living();
        let everything: Vec<_> = living
            .iter()
            .map(|item| Self::key(collection, item.partition, item.id).0)
            .collect();
        for items_max in [2, 1000] {
            let range = ItemRange::Everything;
            let scanned = self.scan(&range, items_max).await;
            prop_assert_eq!(&scanned, &everything, "pages of {}", items_max);
        }
        for partition in 0..PARTITIONS {
            let (_, pk) = Self::key(collection, partition, 0);
            let mut expected: Vec<_> = living
                .iter()
                .filter(|item| item.partition == partition)
                .map(|item| Self::key(collection, partition, item.id).0)
                .collect();
            expected.sort();
            let scanned = self.scan(&ItemRange::Partition(pk), 3).await;
            prop_assert_eq!(scanned, expected);
        }
        Ok(())
    }

    /// The entries of each value of an indexed path lead to the living items that have it, in the order of their creation.
    async fn compare_index(&self) -> Result<(), TestCaseError> {
        let (view, collection) = self.look().await;
        let collection = &collection;
        let progress = view.index_progress(collection).await.unwrap();
        prop_assert_eq!(collection.index_is_whole(), progress == 100);
        if progress < 100 || !collection.index.is_complete() {
            return Ok(());
        }
        self.compare_composite().await?;
        let path = PathId::of(&Path::parse_pointer("/email").unwrap());
        let limits = ScanLimits {
            items_max: 1000,
            bytes_max: 1 << 20,
        };
        for email in 0..EMAILS {
            let span = Span::of_value(collection, path, &Value::from(i32::from(email)));
            let page = view
                .scan_index(collection, &[span], None, limits)
                .await
                .unwrap();
            let found: Vec<_> = page.items.into_iter().map(|(key, _)| key).collect();
            let expected: Vec<_> = self
                .model
                .living()
                .iter()
                .filter(|item| item.email == Some(email))
                .map(|item| Self::key(collection, item.partition, item.id).0)
                .collect();
            prop_assert_eq!(found, expected, "index entries of {}", email);
        }
        Ok(())
    }

    /// A composite index has one entry of every living item, in the order its policy says.
    async fn compare_composite(&self) -> Result<(), TestCaseError> {
        let (view, collection) = self.look().await;
        let composite = composite_id(&collection.index.composites[0]);
        let spans = [Span::of_prefix(&collection, composite, &[])];
        let limits = ScanLimits {
            items_max: 1000,
            bytes_max: 1 << 20,
        };
        let page = view.scan_index(&collection, &spans, None, limits);
        let found: Vec<_> = page.await.unwrap().items;
        let found: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
        let mut expected = self.model.living();
        expected.sort_by_key(|item| (item.email, std::cmp::Reverse(item.note.clone())));
        let expected: Vec<_> = expected
            .iter()
            .map(|item| Self::key(&collection, item.partition, item.id).0)
            .collect();
        prop_assert_eq!(found, expected, "composite entries");
        Ok(())
    }

    async fn scan(&self, range: &ItemRange, items_max: usize) -> Vec<ItemKey> {
        let (view, collection) = self.look().await;
        let collection = &collection;
        let limits = ScanLimits {
            items_max,
            bytes_max: 1 << 20,
        };
        let mut keys = Vec::new();
        let mut resume: Option<Vec<u8>> = None;
        loop {
            let page = view
                .scan(collection, range, resume.as_deref(), limits)
                .await
                .unwrap();
            assert!(page.items.len() <= items_max);
            keys.extend(page.items.into_iter().map(|(key, _)| key));
            match page.resume {
                Some(next) => resume = Some(next),
                None => return keys,
            }
        }
    }

    /// Deletes the living and purges the dead.
    async fn clear(&mut self) -> Result<(), TestCaseError> {
        self.model.settle(self.now());
        self.purge(0).await?;
        let living: Vec<_> = self
            .model
            .living()
            .iter()
            .map(|item| (item.partition, item.id))
            .collect();
        for (partition, id) in living {
            self.write(partition, &[(id, None)], &Meanwhile::default())
                .await?;
        }
        prop_assert!(self.model.items.is_empty());
        let store = self.home.store();
        prop_assert!(store.build_index(self.cid, u64::MAX).await.unwrap());
        self.sweep().await;
        self.compare().await
    }
}

fn options(place: Place) -> OpenOptions {
    OpenOptions {
        place,
        relaxed: true,
        virtual_clock: true,
        accept_clock: false,
    }
}

/// How many stories one store sees: the catalog grows with each.
const STORIES_MAX: u32 = 20;

/// How many stories to run on each store, until there were as many as wanted.
///
/// `PROPTEST_CASES` sets their number; `LAPSEDB_MODEL_TIMES` multiplies it: 100 makes 10^7 steps.
fn rounds(stories: u32) -> impl Iterator<Item = u32> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let times = number("LAPSEDB_MODEL_TIMES").unwrap_or(1);
    let stories = number("PROPTEST_CASES").unwrap_or(stories) * times;
    (0..stories)
        .step_by(STORIES_MAX as usize)
        .map(move |done| (stories - done).min(STORIES_MAX))
}

/// Runs random stories on one store, each in a container of its own.
fn run(home: &mut Home, runtime: &tokio::runtime::Runtime, stories: u32) {
    let config = Config {
        cases: stories,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    let home = RefCell::new(home);
    let mut runner = TestRunner::new(config);
    let stories = proptest::collection::vec(any_step(), 1..100);
    let outcome = runner.run(&stories, |steps| {
        let home: &mut Home = &mut home.borrow_mut();
        runtime.block_on(async {
            let mut bench = Bench::new(home).await;
            for step in &steps {
                bench.step(step).await?;
            }
            bench.clear().await
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn memory_is_as_the_model() {
    let _limit = lapsedb_testkit::TimeLimit::start();
    let runtime = runtime();
    for stories in rounds(1840) {
        let mut home = runtime.block_on(Home::open(Place::Memory));
        run(&mut home, &runtime, stories);
    }
}

#[test]
fn disk_is_as_the_model_and_nothing_is_left_when_all_is_deleted() {
    let _limit = lapsedb_testkit::TimeLimit::start();
    let runtime = runtime();
    for stories in rounds(160) {
        let folder = TempDir::new().unwrap();
        let place = Place::Disk(folder.path().to_path_buf());
        let mut home = runtime.block_on(Home::open(place));
        run(&mut home, &runtime, stories);
        runtime.block_on(home.close());
        let rows = raw_rows(&runtime, folder.path());
        assert!(rows.is_empty(), "left behind: {rows:?}");
    }
}

/// What lies in the engine's spaces for items and what belongs to them; tallies of zero do not count.
fn raw_rows(runtime: &tokio::runtime::Runtime, path: &std::path::Path) -> Vec<String> {
    use lapsedb_kv::Engine;
    let engine = lapsedb_kv::open(lapsedb_kv::OpenOptions::new(EngineKind::Rocksdb {
        path: path.to_path_buf(),
        relaxed: true,
    }))
    .unwrap();
    let mut rows = Vec::new();
    for space in [
        Space::Items,
        Space::Log,
        Space::Due,
        Space::Order,
        Space::Index,
        Space::Unique,
        Space::Tally,
    ] {
        let page = runtime
            .block_on(async {
                engine
                    .snapshot()
                    .await?
                    .scan(Scan::prefix(space, &[]))
                    .await
            })
            .unwrap();
        rows.extend(
            page.rows
                .iter()
                .map(|(key, value)| format!("{}: {key:02x?} = {value:02x?}", space.name())),
        );
    }
    rows
}
