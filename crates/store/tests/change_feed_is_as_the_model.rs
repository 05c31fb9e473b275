//! Readers of the change feed, from any place, among random writes, deletes, changes of the setting, moves of the clock
//! and purges, on both engines: they see the newest version of whatever lives, once per change, in order, and nothing dead.

#[allow(dead_code, reason = "this test needs a part of the model")]
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Item, Model};
use lapsedb_record::{Millis, Policy, Secs, Setting};
use lapsedb_store::catalog::{CollectionBody, database_body};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::partition_key::{EpkRange, PartitionKey};
use lapsedb_store::{
    ChangeLimits, ChangePage, ChangesAfter, Collection, CollectionId, History, ItemKey, ItemRange,
    MetaChange, OpenOptions, Place, Span, Store, Txn, View,
};
use lapsedb_value::{Object, Value, json};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

const PARTITIONS: u8 = 3;
const IDS: u8 = 5;
/// Half of all effective partition keys lie below this one.
const HALF: &str = "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";

type Address = (u8, u8);

#[derive(Clone, Debug)]
enum Start {
    Beginning,
    Now,
    /// At this share of the log, in thousandths.
    Place(u64),
    /// So many seconds ago.
    Time(u64),
}

#[derive(Clone, Debug)]
enum Scope {
    Everything,
    Partition(u8),
    LowerHalf,
    UpperHalf,
    Spans,
}

#[derive(Clone, Debug)]
struct NewReader {
    start: Start,
    scope: Scope,
    items_max: usize,
    bytes_max: usize,
    entries_max: u64,
}

#[derive(Clone, Debug)]
enum Step {
    /// Writes (with a ttl) and deletes of one partition in one commit.
    Write(u8, Vec<(u8, Option<Option<i64>>)>),
    Change(Setting),
    Advance(u64),
    Purge,
    Open(NewReader),
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
    prop_oneof![
        8 => (0..PARTITIONS, writes).prop_map(|(partition, writes)| Step::Write(partition, writes)),
        1 => setting.prop_map(Step::Change),
        3 => prop_oneof![Just(1), Just(999), Just(1000), Just(3000), Just(7001)].prop_map(Step::Advance),
        1 => Just(Step::Purge),
        3 => any_reader().prop_map(Step::Open),
        6 => any::<usize>().prop_map(Step::Read),
    ]
}

fn any_reader() -> impl Strategy<Value = NewReader> {
    let start = prop_oneof![
        Just(Start::Beginning),
        Just(Start::Now),
        (0..=1000_u64).prop_map(Start::Place),
        (0..12_u64).prop_map(Start::Time),
    ];
    let scope = prop_oneof![
        3 => Just(Scope::Everything),
        2 => (0..PARTITIONS).prop_map(Scope::Partition),
        1 => Just(Scope::LowerHalf),
        1 => Just(Scope::UpperHalf),
        1 => Just(Scope::Spans),
    ];
    let items_max = prop_oneof![Just(1), Just(2), Just(3), Just(1000)];
    let bytes_max = prop_oneof![1 => Just(1), 4 => Just(1 << 20)];
    let entries_max = prop_oneof![Just(1), Just(3), Just(1000)];
    (start, scope, items_max, bytes_max, entries_max).prop_map(
        |(start, scope, items_max, bytes_max, entries_max)| NewReader {
            start,
            scope,
            items_max,
            bytes_max,
            entries_max,
        },
    )
}

/// Someone who follows the feed.
struct Reader {
    how: NewReader,
    range: ItemRange,
    begun: u64,
    at: ChangesAfter,
    /// The last place seen, and the newest change seen of each item.
    last: (u64, u16),
    seen: BTreeMap<Address, u64>,
}

struct Bench<'a> {
    store: &'a Store,
    cid: CollectionId,
    model: Model,
    /// The commit that last wrote an item.
    changed: BTreeMap<Address, u64>,
    readers: Vec<Reader>,
}

impl<'a> Bench<'a> {
    async fn new(store: &'a Store) -> Bench<'a> {
        let view = store.view().await.unwrap();
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
            store,
            cid: CollectionId(number + 1),
            model: Model::new(setting, view.now().secs().0),
            changed: BTreeMap::new(),
            readers: Vec::new(),
        };
        change.put(
            keys::meta_numbered(MetaKind::Collection, bench.cid.0),
            bench.body(Policy::new(setting)),
        );
        change.next(number + 1);
        store.change_catalog(&view, change).await.unwrap();
        bench
    }

    fn body(&self, policy: Policy) -> Object {
        let text = br#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"indexingPolicy":
            {"indexingMode":"none","automatic":false}}"#;
        let limits = json::Limits {
            depth_max: 128,
            duplicates_refused: &[],
        };
        CollectionBody {
            cid: self.cid,
            database: 1,
            id: &format!("c{}", self.cid.0),
            document: json::parse(text, &limits)
                .unwrap()
                .as_object()
                .unwrap()
                .clone(),
            index_generation: lapsedb_store::catalog::FIRST_INDEX_GENERATION,
            policy,
            mongo: None,
            history: History::default(),
            indexes: None,
        }
        .into_object()
    }

    async fn view(&self) -> (View, Arc<Collection>) {
        let view = self.store.view().await.unwrap();
        let collection = Arc::clone(view.catalog().collection_numbered(self.cid).unwrap());
        (view, collection)
    }

    fn now(&self) -> u64 {
        self.store.clock().now().secs().0
    }

    fn key(collection: &Collection, (partition, id): Address) -> (ItemKey, PartitionKey) {
        let partition = PartitionKey::parse(&format!("[{partition}]")).unwrap();
        let key = ItemKey::new(collection, &partition, &format!("i{id}"));
        (key, partition)
    }

    async fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        self.model.settle(self.now());
        match step {
            Step::Write(partition, writes) => self.write(*partition, writes).await,
            Step::Change(setting) => self.change(*setting).await,
            Step::Advance(ms) => {
                self.store.clock().advance(*ms).unwrap();
            }
            Step::Purge => {
                let (_, collection) = self.view().await;
                self.model.purge(self.now());
                self.store
                    .purge(&collection, Millis(0), u64::MAX)
                    .await
                    .unwrap();
            }
            Step::Open(how) => self.open(how).await?,
            Step::Read(which) if !self.readers.is_empty() => {
                let which = which % self.readers.len();
                self.read(which).await?;
            }
            Step::Read(_) => {}
        }
        self.model.settle(self.now());
        Ok(())
    }

    async fn write(&mut self, partition: u8, writes: &[(u8, Option<Option<i64>>)]) {
        let (view, collection) = self.view().await;
        let mut txn = Txn::new(&view, &collection);
        let mut written = Vec::new();
        for (id, write) in writes {
            let (key, pk) = Self::key(&collection, (partition, *id));
            let found = txn.get(&key, &pk).await.unwrap().is_some();
            match write {
                None if found => {
                    txn.delete(&key, &pk).await.unwrap();
                    self.model.delete(partition, *id);
                }
                None => {}
                Some(ttl) => {
                    let mut document = Object::new();
                    document.push("id", Value::from(format!("i{id}")));
                    document.push("pk", Value::from(i32::from(partition)));
                    if let Some(ttl) = ttl {
                        document.push("ttl", Value::number(*ttl as f64));
                    }
                    assert!(
                        txn.put(&key, &pk, Arc::new(document))
                            .await
                            .unwrap()
                            .is_ok()
                    );
                    written.push(*id);
                    self.model.put(Item {
                        partition,
                        id: *id,
                        ttl: *ttl,
                        email: None,
                        note: String::new(),
                        written: self.now(),
                        born: 0,
                        charged: 0,
                        died: None,
                    });
                }
            }
        }
        if txn.is_empty() {
            return;
        }
        let done = txn.commit(self.store).await.unwrap();
        for id in written {
            self.changed.insert((partition, id), done.lsn);
        }
    }

    async fn change(&mut self, setting: Setting) {
        let (view, collection) = self.view().await;
        let policy = collection.policy.changed(setting, view.now());
        let mut change = MetaChange::default();
        let key = keys::meta_numbered(MetaKind::Collection, self.cid.0);
        change.put(key, self.body(policy));
        self.store.change_catalog(&view, change).await.unwrap();
        self.model.change(setting, self.now());
    }

    async fn open(&mut self, how: &NewReader) -> Result<(), TestCaseError> {
        let (view, collection) = self.view().await;
        let after = |lsn| ChangesAfter {
            lsn,
            since: Secs(0),
        };
        let at = match how.start {
            Start::Beginning => after(0),
            Start::Now => after(view.lsn()),
            Start::Place(share) => after(view.lsn() * share / 1000),
            Start::Time(ago) => {
                let since = Secs(self.now().saturating_sub(ago));
                let lsn = view.lsn_before(&collection, since).await.unwrap();
                for item in &self.model.items {
                    let early = item.written < since.0;
                    let changed = self.changed[&(item.partition, item.id)];
                    prop_assert_eq!(changed <= lsn, early, "{:?} since {:?}", item, since);
                }
                ChangesAfter { lsn, since }
            }
        };
        let (_, pk) = Self::key(&collection, (0, 0));
        let range = match how.scope {
            Scope::Everything => ItemRange::Everything,
            Scope::Partition(partition) => {
                ItemRange::Partition(Self::key(&collection, (partition, 0)).1)
            }
            Scope::LowerHalf => ItemRange::Epk(EpkRange::parse("", HALF).unwrap()),
            Scope::UpperHalf => ItemRange::Epk(EpkRange::parse(HALF, "FF").unwrap()),
            Scope::Spans => ItemRange::spans(vec![
                Span::of_item(&Self::key(&collection, (1, 2)).0),
                Span::of_partition(&collection, &pk),
            ]),
        };
        self.readers.push(Reader {
            how: how.clone(),
            range,
            begun: at.lsn,
            at,
            last: (at.lsn, 0),
            seen: BTreeMap::new(),
        });
        Ok(())
    }

    /// Living items behind a reader, as the model has them: by commit.
    fn expected(&self, collection: &Collection, reader: &Reader) -> Vec<(u64, Address)> {
        let half = EpkRange::parse("", HALF).unwrap();
        let mut expected: Vec<_> = self
            .model
            .living()
            .into_iter()
            .map(|item| (item, (item.partition, item.id)))
            .filter(|(item, address)| {
                let (key, _) = Self::key(collection, *address);
                let lower = half.contains(keys::epk_of(collection, &key).unwrap());
                let inside = match reader.how.scope {
                    Scope::Everything => true,
                    Scope::Partition(partition) => address.0 == partition,
                    Scope::LowerHalf => lower,
                    Scope::UpperHalf => !lower,
                    Scope::Spans => address.0 == 0 || *address == (1, 2),
                };
                inside && item.written >= reader.at.since.0
            })
            .map(|(_, address)| (self.changed[&address], address))
            .filter(|(lsn, _)| *lsn > reader.at.lsn)
            .collect();
        expected.sort_unstable();
        expected
    }

    /// One page, as a request would take it; says whether the reader has caught up.
    async fn read(&mut self, which: usize) -> Result<bool, TestCaseError> {
        let (view, collection) = self.view().await;
        let expected = self.expected(&collection, &self.readers[which]);
        let reader = &mut self.readers[which];
        let limits = ChangeLimits {
            items_max: reader.how.items_max,
            bytes_max: reader.how.bytes_max,
            entries_max: reader.how.entries_max,
        };
        let page = loop {
            let page = view
                .changes(&collection, &reader.range, reader.at, limits)
                .await
                .unwrap();
            same_by_key(&view, &collection, reader, limits, &page).await?;
            prop_assert!(
                page.caught_up || page.next > reader.at.lsn,
                "it stands still"
            );
            prop_assert!(!page.caught_up || page.next == view.lsn());
            reader.at.lsn = page.next;
            if page.caught_up || !page.items.is_empty() {
                break page;
            }
        };
        let mut got = Vec::new();
        for (key, item) in &page.items {
            let (partition, id) = keys::address_of(&collection, key).unwrap();
            let partition: u8 = partition.to_json()[1..2].parse().unwrap();
            let address = (partition, id[1..].parse().unwrap());
            let header = item.header();
            let place = (header.lsn, header.index);
            prop_assert!(place > reader.last, "out of order");
            reader.last = place;
            prop_assert!(
                reader.seen.insert(address, header.lsn) < Some(header.lsn),
                "twice"
            );
            got.push((header.lsn, address));
        }
        got.sort_unstable();
        let (page_end, rest) = expected.split_at(got.len().min(expected.len()));
        prop_assert_eq!(&got, page_end, "not the next changes");
        prop_assert!(!page.caught_up || rest.is_empty());
        prop_assert!(
            rest.first().is_none_or(|(lsn, _)| *lsn > page.next),
            "passed over"
        );
        let whole = got
            .last()
            .zip(rest.first())
            .is_none_or(|((a, _), (b, _))| a < b);
        prop_assert!(whole, "a commit is split");
        // Without the last commit the page would not have been full.
        let last = got.last().map(|(lsn, _)| *lsn);
        let before = got.iter().filter(|(lsn, _)| Some(*lsn) != last).count();
        prop_assert!(before < limits.items_max, "too many");
        Ok(page.caught_up)
    }

    /// In the end every reader has seen the newest version of all that lives.
    async fn end(&mut self) -> Result<(), TestCaseError> {
        self.model.settle(self.now());
        for which in 0..self.readers.len() {
            let begun = ChangesAfter {
                lsn: self.readers[which].begun,
                ..self.readers[which].at
            };
            while !self.read(which).await? {}
            let (_, collection) = self.view().await;
            let reader = &mut self.readers[which];
            reader.at = begun;
            let reader = &self.readers[which];
            for (lsn, address) in self.expected(&collection, reader) {
                prop_assert_eq!(reader.seen.get(&address), Some(&lsn), "{:?}", address);
            }
        }
        Ok(())
    }
}

/// Read by keys, a part of the collection has the same next changes.
async fn same_by_key(
    view: &View,
    collection: &Collection,
    reader: &Reader,
    limits: ChangeLimits,
    page: &ChangePage,
) -> Result<(), TestCaseError> {
    let by_key = view.changes_by_key(collection, &reader.range, reader.at, limits);
    let Some(by_key) = by_key.await.unwrap() else {
        prop_assert!(matches!(reader.how.scope, Scope::Everything));
        return Ok(());
    };
    let places = |page: &ChangePage| -> Vec<_> {
        let headers = page.items.iter().map(|(_, item)| item.header());
        headers.map(|header| (header.lsn, header.index)).collect()
    };
    let (by_log, by_key_places) = (places(page), places(&by_key));
    // The log may end a page early, when it has looked at many entries; then the rest is on the next one.
    prop_assert!(
        by_key_places.starts_with(&by_log),
        "{:?} {:?}",
        by_log,
        by_key_places
    );
    if limits.entries_max >= 1000 {
        prop_assert_eq!(by_log, by_key_places);
    }
    prop_assert!(by_key.next > reader.at.lsn || by_key.caught_up);
    Ok(())
}

fn run(place: Place, stories: u32) {
    let _limit = lapsedb_testkit::TimeLimit::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let options = OpenOptions {
        place,
        relaxed: true,
        virtual_clock: true,
        accept_clock: false,
    };
    let store = runtime.block_on(Store::open(options)).unwrap();
    let config = Config {
        cases: stories,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    let stories = proptest::collection::vec(any_step(), 1..60);
    let outcome = TestRunner::new(config).run(&stories, |steps| {
        runtime.block_on(async {
            let mut bench = Bench::new(&store).await;
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
    run(Place::Memory, stories(200));
}

#[test]
fn disk_is_as_the_model() {
    let folder = tempfile::TempDir::new().unwrap();
    run(Place::Disk(folder.path().to_path_buf()), stories(60));
}
