//! All versions, among random writes, changes of the setting, moves of the clock, purges and restarts, on both engines: every
//! change is told once, in order; every expiry once, never early, with its moment, before its id is used again.

#[allow(dead_code, reason = "this test needs a part of the model")]
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Item, Model};
use lapsedb_record::{Millis, Policy, Secs, Setting};
use lapsedb_store::catalog::{CollectionBody, FIRST_INDEX_GENERATION, database_body};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{
    ChangeLimits, Collection, CollectionId, Event, EventKind, EventPlace, Events, History, ItemKey,
    ItemRange, MetaChange, OpenOptions, Place, Source, Store, StoreError, Txn, View,
};
use lapsedb_value::{Object, Value, bson, json};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

const PARTITIONS: u8 = 2;
const IDS: u8 = 4;
/// The policy's retention, in minutes: the clock sometimes leaps beyond it.
const RETENTION_MINUTES: u64 = 5;

type Address = (u8, u8);

#[derive(Clone, Debug)]
enum Step {
    /// Writes (with a ttl) and deletes of one partition in one commit; perhaps others tell expiries before it commits.
    Write(u8, Vec<(u8, Option<Option<i64>>)>, bool),
    Change(Setting),
    Advance(u64),
    NextSecond,
    Purge(u64),
    Tell(u64),
    Trim,
    Restart,
    /// Of one partition or all; at most so many events a page.
    Open(Option<u8>, usize),
    Read(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let ttl = prop_oneof![4 => Just(None), 1 => Just(Some(-1)), 2 => Just(Some(1)), 2 => Just(Some(5)), 1 => Just(Some(4000))];
    let write = prop_oneof![3 => ttl.prop_map(Some), 1 => Just(None)];
    let writes = proptest::collection::vec((0..IDS, write), 1..5);
    let setting = prop_oneof![
        Just(Setting::Off),
        Just(Setting::On),
        prop_oneof![Just(1), Just(3), Just(10), Just(5000)]
            .prop_map(|life| Setting::OnWithDefault(Secs(life))),
    ];
    let advance = prop_oneof![
        Just(1),
        Just(999),
        Just(1000),
        Just(3000),
        Just(7001),
        Just(100_000),
        Just(400_000)
    ];
    prop_oneof![
        8 => (0..PARTITIONS, writes, prop::bool::weighted(0.2))
            .prop_map(|(partition, writes, raced)| Step::Write(partition, writes, raced)),
        2 => setting.prop_map(Step::Change),
        3 => advance.prop_map(Step::Advance),
        2 => Just(Step::NextSecond),
        1 => prop_oneof![Just(0), Just(2000)].prop_map(Step::Purge),
        1 => prop_oneof![Just(1), Just(u64::MAX)].prop_map(Step::Tell),
        1 => Just(Step::Trim),
        1 => Just(Step::Restart),
        2 => (proptest::option::of(0..PARTITIONS), 1..5_usize)
            .prop_map(|(scope, events)| Step::Open(scope, events)),
        6 => any::<usize>().prop_map(Step::Read),
    ]
}

/// One event, as far as the model tells it: kind, when it happened, and the tags of the versions after and before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    kind: EventKind,
    happened: u64,
    current: Option<u64>,
    previous: Option<u64>,
}

struct Reader {
    scope: Option<u8>,
    range: ItemRange,
    events_max: usize,
    at: EventPlace,
}

struct Bench<'a> {
    place: &'a Place,
    store: &'a mut Option<Store>,
    cid: CollectionId,
    model: Model,
    history: History,
    /// What must be told of each item, in order.
    story: BTreeMap<Address, Vec<Told>>,
    /// What a witness who reads after every step has seen: place, second of the commit, item.
    log: Vec<(EventPlace, u64, Address)>,
    seen: BTreeMap<Address, Vec<Told>>,
    witness: EventPlace,
    tags: u64,
    readers: Vec<Reader>,
}

fn options(place: &Place) -> OpenOptions {
    OpenOptions {
        place: place.clone(),
        relaxed: true,
        virtual_clock: true,
        accept_clock: false,
    }
}

impl<'a> Bench<'a> {
    async fn new(place: &'a Place, store: &'a mut Option<Store>) -> Bench<'a> {
        let view = store.as_ref().unwrap().view().await.unwrap();
        let number = view.catalog().next;
        let mut change = MetaChange::default();
        if view.catalog().databases().is_empty() {
            change.put(
                keys::meta_numbered(MetaKind::Database, 1),
                database_body(1, "d"),
            );
        }
        let setting = Setting::OnWithDefault(Secs(5));
        let bench = Bench {
            place,
            store,
            cid: CollectionId(number + 1),
            model: Model::new(setting, view.now().secs().0),
            history: History::of_new(&definition()),
            story: BTreeMap::new(),
            log: Vec::new(),
            seen: BTreeMap::new(),
            witness: EventPlace::end_of(view.lsn()),
            tags: 0,
            readers: Vec::new(),
        };
        assert!(bench.history.kept);
        change.put(
            keys::meta_numbered(MetaKind::Collection, bench.cid.0),
            bench.body(Policy::new(setting)),
        );
        change.next(number + 1);
        bench.store().change_catalog(&view, change).await.unwrap();
        bench
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn body(&self, policy: Policy) -> Object {
        CollectionBody {
            cid: self.cid,
            database: 1,
            id: &format!("c{}", self.cid.0),
            document: definition(),
            index_generation: FIRST_INDEX_GENERATION,
            policy,
            mongo: None,
            history: self.history.clone(),
            indexes: None,
        }
        .into_object()
    }

    async fn view(&self) -> (View, Arc<Collection>) {
        let view = self.store().view().await.unwrap();
        let collection = Arc::clone(view.catalog().collection_numbered(self.cid).unwrap());
        (view, collection)
    }

    fn now(&self) -> u64 {
        self.store().clock().now().secs().0
    }

    fn key(collection: &Collection, (partition, id): Address) -> (ItemKey, PartitionKey) {
        let partition = PartitionKey::parse(&format!("[{partition}]")).unwrap();
        let key = ItemKey::new(collection, &partition, &format!("i{id}"));
        (key, partition)
    }

    /// Lets the model's time pass: whoever has died must be told.
    fn settle(&mut self) {
        self.model.settle(self.now());
        for item in &self.model.items {
            let story = self.story.entry((item.partition, item.id)).or_default();
            let last = story.last().unwrap();
            if let (Some(died), true) = (item.died, last.kind != EventKind::Expire) {
                let previous = last.current;
                story.push(Told {
                    kind: EventKind::Expire,
                    happened: died,
                    current: None,
                    previous,
                });
            }
        }
    }

    async fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        self.settle();
        match step {
            Step::Write(partition, writes, raced) => {
                self.write(*partition, writes, *raced).await;
            }
            Step::Change(setting) => self.change(*setting).await,
            Step::Advance(ms) => {
                self.store().clock().advance(*ms).unwrap();
            }
            Step::NextSecond => {
                let ms = 1000 - self.store().clock().now().0 % 1000;
                self.store().clock().advance(ms).unwrap();
            }
            Step::Purge(grace) => {
                let (_, collection) = self.view().await;
                let purge = self.store().purge(&collection, Millis(*grace), u64::MAX);
                purge.await.unwrap();
            }
            Step::Tell(most) => {
                self.store().tell_expiries(self.cid, *most).await.unwrap();
            }
            Step::Trim => {
                let (_, collection) = self.view().await;
                self.store().trim_versions(&collection).await.unwrap();
            }
            Step::Restart => self.restart().await,
            Step::Open(scope, events_max) => self.open(*scope, *events_max).await?,
            Step::Read(which) if !self.readers.is_empty() => {
                let which = which % self.readers.len();
                self.read(which).await?;
            }
            Step::Read(_) => {}
        }
        self.settle();
        self.look().await
    }

    async fn restart(&mut self) {
        if matches!(self.place, Place::Disk(_)) {
            let store = self.store.take().unwrap();
            store.close().await.unwrap();
            drop(store);
            *self.store = Some(Store::open(options(self.place)).await.unwrap());
        }
    }

    async fn write(&mut self, partition: u8, writes: &[(u8, Option<Option<i64>>)], raced: bool) {
        loop {
            let (view, collection) = self.view().await;
            let mut txn = Txn::new(&view, &collection);
            let mut after: BTreeMap<u8, Option<(Option<i64>, u64)>> = BTreeMap::new();
            // An item that goes and comes back in one transaction is another one.
            let mut anew = Vec::new();
            for (at, (id, write)) in writes.iter().enumerate() {
                let (key, pk) = Self::key(&collection, (partition, *id));
                let found = txn.get(&key, &pk).await.unwrap().is_some();
                match write {
                    None if found => {
                        txn.delete(&key, &pk).await.unwrap();
                        after.insert(*id, None);
                        anew.push(*id);
                    }
                    None => {}
                    Some(ttl) => {
                        let tag = self.tags + at as u64 + 1;
                        let document = Arc::new(document((partition, *id), *ttl, tag));
                        assert!(txn.put(&key, &pk, document).await.unwrap().is_ok());
                        after.insert(*id, Some((*ttl, tag)));
                    }
                }
            }
            if raced {
                self.store().tell_expiries(self.cid, 1).await.unwrap();
            }
            if txn.is_empty() {
                return;
            }
            match txn.commit(self.store()).await {
                Ok(_) => {}
                Err(StoreError::Retry) if raced => continue,
                Err(error) => panic!("{error}"),
            }
            self.tags += writes.len() as u64;
            for (id, write) in after {
                self.apply((partition, id), write, anew.contains(&id));
            }
            return;
        }
    }

    fn apply(&mut self, address: Address, write: Option<(Option<i64>, u64)>, anew: bool) {
        let happened = self.now();
        let alive = self.model.live(address.0, address.1).is_some();
        let story = self.story.entry(address).or_default();
        let previous = story.last().and_then(|last| last.current).filter(|_| alive);
        if alive && (anew || write.is_none()) {
            story.push(Told {
                kind: EventKind::Delete,
                happened,
                current: None,
                previous,
            });
        }
        let Some((ttl, tag)) = write else {
            self.model.delete(address.0, address.1);
            return;
        };
        let continues = alive && !anew;
        story.push(Told {
            kind: if continues {
                EventKind::Replace
            } else {
                EventKind::Create
            },
            happened,
            current: Some(tag),
            previous: previous.filter(|_| continues),
        });
        self.model.put(Item {
            partition: address.0,
            id: address.1,
            ttl,
            email: None,
            note: String::new(),
            written: happened,
            born: 0,
            charged: 0,
            died: None,
        });
    }

    async fn change(&mut self, setting: Setting) {
        let (view, collection) = self.view().await;
        if setting == collection.policy.setting {
            return;
        }
        let mut body = collection.body();
        body.history.shown = None;
        let mut change = MetaChange::default();
        let ttl = collection.ttl_changed(setting, None, view.now());
        ttl.put(body, &mut change);
        self.store().change_catalog(&view, change).await.unwrap();
        self.model.change(setting, self.now());
    }

    /// The witness reads on, and each item's events are the first ones of its story; only its last expiry may be untold.
    async fn look(&mut self) -> Result<(), TestCaseError> {
        let (view, collection) = self.view().await;
        let everything = ItemRange::Everything;
        let source = Source::Items(&collection, &everything);
        let sources = [source];
        let found = view.events(&sources, self.witness, limits(usize::MAX));
        let Events::Page(page) = found.await.unwrap() else {
            return Err(TestCaseError::fail("the witness was forgotten"));
        };
        prop_assert!(page.caught_up);
        for event in &page.events {
            let address = address(&collection, &event.key);
            prop_assert!(event.place > self.witness, "out of order");
            let before = self.log.last().map_or(0, |(_, committed, _)| *committed);
            prop_assert!(event.committed.0 >= before, "time falls along the log");
            prop_assert!(event.happened <= event.committed, "told early");
            prop_assert!(event.committed.0 <= self.now());
            self.log.push((event.place, event.committed.0, address));
            self.witness = event.place;
            self.seen.entry(address).or_default().push(told(event));
        }
        self.witness = page.next;
        for (address, story) in &self.story {
            let seen = self.seen.get(address).map_or(&[][..], Vec::as_slice);
            prop_assert_eq!(seen, &story[..seen.len().min(story.len())], "{:?}", address);
            let untold = &story[seen.len()..];
            let fine = match untold {
                [] => true,
                [one] => one.kind == EventKind::Expire,
                _ => false,
            };
            prop_assert!(fine, "untold of {:?}: {:?}", address, untold);
        }
        let untold = self.untold();
        let due = view.expiries_due(&collection).await.unwrap();
        prop_assert_eq!(due, untold > 0, "{} untold", untold);
        Ok(())
    }

    fn untold(&self) -> usize {
        let lengths = self.story.iter().map(|(address, story)| {
            let seen = self.seen.get(address).map_or(0, Vec::len);
            story.len() - seen
        });
        lengths.sum()
    }

    async fn open(&mut self, scope: Option<u8>, events_max: usize) -> Result<(), TestCaseError> {
        self.store().keep_versions(self.cid).await.unwrap();
        let (view, collection) = self.view().await;
        let range = match scope {
            None => ItemRange::Everything,
            Some(partition) => ItemRange::Partition(Self::key(&collection, (partition, 0)).1),
        };
        self.readers.push(Reader {
            scope,
            range,
            events_max,
            at: EventPlace::end_of(view.lsn()),
        });
        Ok(())
    }

    /// One page, as a request would take it; says whether the reader has caught up.
    async fn read(&mut self, which: usize) -> Result<bool, TestCaseError> {
        loop {
            let (view, collection) = self.view().await;
            let reader = &self.readers[which];
            let source = Source::Items(&collection, &reader.range);
            let limits = limits(reader.events_max);
            let found = view.events(&[source], reader.at, limits).await.unwrap();
            let retention = collection.retention().0;
            prop_assert_eq!(retention, RETENTION_MINUTES * 60);
            let oldest = view.now().secs().0.saturating_sub(retention);
            let mut behind = self.log.iter().filter(|(place, ..)| *place > reader.at);
            let lost = behind.any(|(_, committed, _)| *committed < oldest);
            let page = match found {
                Events::Forgotten => {
                    prop_assert!(lost, "forgotten too early");
                    self.readers[which].at = EventPlace::end_of(view.lsn());
                    return Ok(true);
                }
                Events::Page(page) => page,
            };
            prop_assert!(!lost, "served beyond its retention");
            if page.caught_up && view.expiries_due(&collection).await.unwrap() {
                self.store().tell_expiries(self.cid, 3).await.unwrap();
                self.look().await?;
                continue;
            }
            let wanted = self.log.iter().filter(|(place, _, address)| {
                *place > reader.at && reader.scope.is_none_or(|scope| scope == address.0)
            });
            let wanted: Vec<_> = wanted.map(|(place, ..)| *place).collect();
            let got: Vec<_> = page.events.iter().map(|event| event.place).collect();
            let (now, rest) = wanted.split_at(got.len().min(wanted.len()));
            prop_assert_eq!(&got, now, "not the next events");
            prop_assert!(!page.caught_up || rest.is_empty());
            prop_assert!(rest.first().is_none_or(|place| *place > page.next));
            let split = got
                .last()
                .zip(rest.first())
                .is_some_and(|(a, b)| a.lsn == b.lsn);
            prop_assert!(!split, "a commit is split");
            prop_assert!(page.caught_up || page.next > reader.at, "it stands still");
            if page.caught_up {
                prop_assert_eq!(self.untold(), 0, "caught up, but not all is told");
            }
            let caught_up = page.caught_up;
            self.readers[which].at = page.next;
            if caught_up || !got.is_empty() {
                return Ok(caught_up);
            }
        }
    }

    /// In the end every reader catches up, and everything is told.
    async fn end(&mut self) -> Result<(), TestCaseError> {
        self.settle();
        for which in 0..self.readers.len() {
            while !self.read(which).await? {}
        }
        self.store()
            .tell_expiries(self.cid, u64::MAX)
            .await
            .unwrap();
        self.look().await?;
        prop_assert_eq!(self.untold(), 0);
        Ok(())
    }
}

fn definition() -> Object {
    let text = format!(
        r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}},"indexingPolicy":
        {{"indexingMode":"none","automatic":false}},"changeFeedPolicy":{{"retentionDuration":{RETENTION_MINUTES}}}}}"#
    );
    let limits = json::Limits {
        depth_max: 128,
        duplicates_refused: &[],
    };
    let value = json::parse(text.as_bytes(), &limits).unwrap();
    value.as_object().unwrap().clone()
}

fn document((partition, id): Address, ttl: Option<i64>, tag: u64) -> Object {
    let mut document = Object::new();
    document.push("id", Value::from(format!("i{id}")));
    document.push("pk", Value::from(i32::from(partition)));
    if let Some(ttl) = ttl {
        document.push("ttl", Value::number(ttl as f64));
    }
    document.push("tag", Value::number(tag as f64));
    document
}

fn address(collection: &Collection, key: &ItemKey) -> Address {
    let (partition, id) = keys::address_of(collection, key).unwrap();
    let partition = partition.to_json()[1..2].parse().unwrap();
    (partition, id[1..].parse().unwrap())
}

fn told(event: &Event) -> Told {
    let tag = |image: &lapsedb_store::EventImage| {
        let document = bson::read_document(image.body().unwrap()).unwrap();
        document.get("tag").unwrap().as_i64().unwrap() as u64
    };
    Told {
        kind: event.kind,
        happened: event.happened.0,
        current: event.current.as_ref().map(tag),
        previous: event.previous.as_ref().map(tag),
    }
}

fn limits(items_max: usize) -> ChangeLimits {
    ChangeLimits {
        items_max,
        bytes_max: usize::MAX,
        entries_max: u64::MAX,
    }
}

fn run(place: &Place, stories: u32) {
    let _limit = lapsedb_testkit::TimeLimit::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let store = runtime.block_on(Store::open(options(place))).unwrap();
    let store = std::cell::RefCell::new(Some(store));
    let config = Config {
        cases: stories,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    let stories = proptest::collection::vec(any_step(), 1..60);
    let outcome = TestRunner::new(config).run(&stories, |steps| {
        let mut store = store.borrow_mut();
        runtime.block_on(async {
            let mut bench = Bench::new(place, &mut store).await;
            for step in &steps {
                bench.step(step).await?;
            }
            bench.end().await
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// How many stories to run: as many as the environment says, but a store's catalog grows with each.
fn stories(usual: u32) -> u32 {
    let wanted = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    wanted.unwrap_or(usual).min(1000)
}

#[test]
fn memory_is_as_the_model() {
    run(&Place::Memory, stories(200));
}

#[test]
fn disk_is_as_the_model() {
    let folder = tempfile::TempDir::new().unwrap();
    run(&Place::Disk(folder.path().to_path_buf()), stories(40));
}
