//! Random writes, date indexes made, changed and dropped, settings, paths of bases, moves of the clock, restarts and purges, on
//! both engines, against a model that walks through time and marks the dead.

use crate::bench::{self, Bench, CID, date_index, index, object};
use lapsedb_record::{Millis, Secs, Setting};
use lapsedb_store::index::scan::EntrySpan;
use lapsedb_store::{
    IndexDefinition, Place, Preview, Purged, Rebased, Refused, StoreError, Tally, Width,
};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

const IDS: i32 = 6;
const SLOTS: usize = 3;
const PATHS: [&str; 2] = ["/c", "/n/d"];

#[derive(Clone, Debug)]
struct Write {
    id: i32,
    /// Dates by their distance from now.
    a: Option<i64>,
    b: Option<i64>,
    ttl: Option<i32>,
    done: bool,
    unique: Option<u8>,
    /// Seconds at both paths, by their distance from now in halves of a second.
    bases: [Option<i64>; 2],
}

#[derive(Clone, Debug)]
enum Step {
    Put(Write),
    Delete(i32),
    /// Makes the index of a slot, if it is not there, and perhaps builds it.
    Create(usize, u64, bool),
    Build(usize),
    Drop(usize),
    Life(usize, u64),
    Change(Setting),
    /// Sets another path of bases, perhaps with another default, and perhaps gives documents theirs.
    Path(Option<usize>, Option<Setting>, bool),
    Rebase,
    Advance(u64),
    NextSecond,
    Purge(u64),
    Outlook(Setting),
    Restart,
}

#[derive(Clone, Debug)]
struct Item {
    id: i32,
    a: Option<i64>,
    b: Option<i64>,
    ttl: Option<i32>,
    done: bool,
    unique: Option<u8>,
    /// Seconds at both paths, as milliseconds.
    bases: [Option<i64>; 2],
    /// What its life is counted from, in milliseconds.
    base: i64,
    /// Which path that is from, or was when it was last gone through; none if it never had another base than its write time.
    based: Option<u64>,
    written: u64,
    born: u64,
    charged: u64,
    /// The number of the write among all.
    write: u64,
    /// Slots whose index it has no date for, because it had expired when the index was built.
    undated: [bool; SLOTS],
    dead: bool,
    /// Dead whatever is in force now.
    buried: bool,
    /// Dead by a ttl that counts from its write, whatever is in force now.
    buried_by_ttl: bool,
}

#[derive(Clone, Copy, Debug)]
struct Index {
    number: u32,
    life: u64,
    built: bool,
    /// Writes before it was created: later ones give their dates themselves, whether it is built or not.
    writes_before: u64,
}

struct Model {
    items: Vec<Item>,
    indexes: [Option<Index>; SLOTS],
    setting: Setting,
    /// The setting that comes into force once documents are gone through; nothing expires by a ttl until then.
    then: Option<Setting>,
    path: Option<usize>,
    /// How many paths there were, and whether documents are still to be gone through.
    paths: u64,
    rebasing: bool,
    /// The second of the last change that ends or buries somebody.
    since: u64,
    /// The second in which the documents were last gone through.
    rebased: u64,
    births: u64,
}

impl Model {
    /// When an item ends by its ttl, in milliseconds.
    fn ttl_end(setting: Setting, item: &Item) -> Option<i128> {
        let end = |life: u64| i128::from(item.base) + i128::from(life) * 1000;
        match (setting, item.ttl) {
            (Setting::Off, _) | (_, Some(-1)) => None,
            (_, Some(own)) if own > 0 => {
                Some(end(u64::try_from(own).unwrap()).min(i128::from(i64::MAX)))
            }
            (Setting::On, _) => None,
            (Setting::OnWithDefault(life), _) => Some(end(life.0)),
        }
    }

    /// The base that an item has now, and whether it is another than its write time.
    fn base_of(&self, item: &Item) -> (i64, Option<u64>) {
        let written = i64::try_from(item.written).unwrap() * 1000;
        let stays = item.ttl == Some(-1);
        match self.path.and_then(|path| item.bases[path]) {
            Some(base) if !stays => (base, Some(self.paths)),
            Some(_) | None => (written, item.based.map(|_| self.paths)),
        }
    }

    fn rebase(&mut self, now: i64) {
        if !std::mem::take(&mut self.rebasing) {
            return;
        }
        self.settle(now);
        for at in 0..self.items.len() {
            let item = &self.items[at];
            let end = Self::ttl_end(self.setting, item);
            let former = item.based.is_some_and(|path| path < self.paths);
            let (base, based) = self.base_of(item);
            let item = &mut self.items[at];
            if item.dead {
                item.buried |= former && end.is_some_and(|end| end <= i128::from(now));
            } else {
                (item.base, item.based) = (base, based);
            }
        }
        self.rebased = now.unsigned_abs() / 1000;
        self.setting = self.then.take().unwrap_or(self.setting);
        self.settle(now);
    }

    /// When an item ends by the index of a slot.
    fn date_end(&self, slot: usize, item: &Item) -> Option<i128> {
        let index = self.indexes[slot].filter(|index| index.built && !item.undated[slot])?;
        let date = match slot {
            0 => item.a,
            1 => item.b,
            _ => item.a.filter(|_| item.done),
        };
        date.map(|date| i128::from(date) + i128::from(index.life) * 1000)
    }

    fn end(&self, setting: Setting, item: &Item) -> Option<i128> {
        let dates = (0..SLOTS).filter_map(|slot| self.date_end(slot, item));
        dates.chain(Self::ttl_end(setting, item)).min()
    }

    fn settle(&mut self, now: i64) {
        let now = i128::from(now);
        for at in 0..self.items.len() {
            let end = self.end(self.setting, &self.items[at]);
            self.items[at].dead |= end.is_some_and(|end| end <= now);
        }
    }

    fn living(&self) -> Vec<&Item> {
        self.items.iter().filter(|item| !item.dead).collect()
    }

    /// Marks those as buried that an index has ended and that a change of it would let go.
    fn bury(&mut self, slot: usize, now: i64) {
        for at in 0..self.items.len() {
            let end = self.date_end(slot, &self.items[at]);
            self.items[at].buried |= end.is_some_and(|end| end <= i128::from(now));
        }
    }

    /// The setting that clients have asked for last.
    fn wanted(&self) -> Setting {
        self.then.unwrap_or(self.setting)
    }

    /// Changes the setting and the path, or one of them. While two bases are in use, a new setting waits.
    fn change(&mut self, wanted: Setting, path: Option<usize>, now: i64) {
        self.settle(now);
        let moves = path != self.path;
        let two = moves || self.rebasing;
        let waits = self.then.is_some() || (two && wanted != self.setting);
        self.then = Some(wanted).filter(|wanted| waits && *wanted != Setting::Off);
        let setting = if waits { Setting::Off } else { wanted };
        for item in &mut self.items {
            let end = Self::ttl_end(self.setting, item);
            let after = Self::ttl_end(setting, item);
            // Of bases, only what the new setting would let go has to be kept in mind.
            let lets_go = item.based.is_none() || after.is_none() || after > end;
            let over = end.is_some_and(|end| end <= i128::from(now));
            item.buried |= lets_go && over;
            item.buried_by_ttl |= item.based.is_none() && over;
        }
        self.setting = setting;
        if moves {
            (self.path, self.rebasing) = (path, true);
            self.paths += 1;
        }
        self.since = u64::try_from(now).unwrap() / 1000;
        self.settle(now);
    }

    fn purge(&mut self, now: u64, horizon: u64, on_disk: bool) -> Vec<Item> {
        if self.since > horizon / 1000 {
            return Vec::new();
        }
        let rebased = if self.rebasing {
            now / 1000
        } else {
            self.rebased
        };
        let one_by_one = rebased <= horizon / 1000;
        let (mut gone, mut kept) = (Vec::new(), Vec::new());
        for item in std::mem::take(&mut self.items) {
            let over = |end: Option<i128>| end.is_some_and(|end| end <= i128::from(horizon));
            let removed = one_by_one && (item.buried || over(self.end(self.setting, &item)));
            // On disk, what ends by a ttl that counts from the write is dropped by the engine; bases say nothing about it.
            let dropped = on_disk
                && item.based.is_none()
                && (item.buried_by_ttl || over(Self::ttl_end(self.setting, &item)));
            if removed || dropped {
                gone.push(item)
            } else {
                kept.push(item)
            }
        }
        self.items = kept;
        gone
    }
}

fn sum<'a>(items: impl IntoIterator<Item = &'a Item>) -> Tally {
    items.into_iter().fold(Tally::default(), |sum, item| Tally {
        items: sum.items + 1,
        bytes: sum.bytes + item.charged,
    })
}

fn document(item: &Item) -> Object {
    let mut document = Object::new();
    document.push("_id", Value::Int32(item.id));
    for (name, date) in [("a", item.a), ("b", item.b)] {
        if let Some(date) = date {
            document.push(name, Value::Date(date));
        }
    }
    if let Some(ttl) = item.ttl {
        document.push("ttl", Value::Int32(ttl));
    }
    let seconds = |ms: i64| match ms {
        i64::MIN => Value::Double(-1e300),
        i64::MAX => Value::Double(1e300),
        ms if ms % 1000 == 0 => Value::Int64(ms / 1000),
        ms => Value::Double(ms as f64 / 1000.0),
    };
    let [c, d] = item.bases.map(|base| base.map(seconds));
    document.push("c", c.unwrap_or(Value::from("no number")));
    if let Some(d) = d {
        let mut inner = Object::new();
        inner.push("d", d);
        document.push("n", Value::Object(inner));
    }
    document.push("done", Value::Bool(item.done));
    if let Some(unique) = item.unique {
        document.push("u", Value::Int32(i32::from(unique)));
    }
    document
}

fn definition(slot: usize, life: u64) -> IndexDefinition {
    match slot {
        0 => date_index("0", "a", life),
        1 => date_index("1", "b", life),
        _ => IndexDefinition {
            filter: Some(object(r#"{"done":true}"#)),
            ..date_index("2", "a", life)
        },
    }
}

struct Story<'a> {
    bench: &'a mut Bench,
    model: Model,
}

impl Story<'_> {
    async fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let now = self.bench.now();
        match step {
            Step::Put(write) => self.put(write).await?,
            Step::Delete(id) => {
                if self.model.living().iter().any(|item| item.id == *id) {
                    self.bench.delete(*id).await;
                    self.model.items.retain(|item| item.id != *id);
                }
            }
            Step::Create(slot, life, build) => {
                if self.model.indexes[*slot].is_none() {
                    let number = self.bench.begin(definition(*slot, *life)).await;
                    self.model.indexes[*slot] = Some(Index {
                        number,
                        life: *life,
                        built: false,
                        writes_before: self.model.births,
                    });
                    if *build {
                        self.build(*slot).await;
                    }
                }
            }
            Step::Build(slot) => self.build(*slot).await,
            Step::Drop(slot) => {
                if let Some(index) = self.model.indexes[*slot] {
                    self.bench.drop_index(index.number).await;
                    self.model.bury(*slot, now);
                    self.model.indexes[*slot] = None;
                    if index.built {
                        self.model.since = now.unsigned_abs() / 1000;
                    }
                }
            }
            Step::Life(slot, life) => {
                if let Some(index) = self.model.indexes[*slot] {
                    self.bench.expire_after(index.number, *life).await;
                    if *life > index.life {
                        self.model.bury(*slot, now);
                    }
                    self.model.indexes[*slot] = Some(Index {
                        life: *life,
                        ..index
                    });
                    if index.built && *life != index.life {
                        self.model.since = now.unsigned_abs() / 1000;
                    }
                }
            }
            Step::Change(setting) => {
                self.bench.setting(*setting).await;
                self.model.change(*setting, self.model.path, now);
            }
            Step::Path(path, setting, build) => {
                let parsed = path.map(|path| Path::parse_pointer(PATHS[path]).unwrap());
                let setting = setting.unwrap_or(self.model.wanted());
                self.bench.ttl(setting, parsed.as_ref()).await;
                self.model.change(setting, *path, now);
                if *build {
                    self.rebase().await;
                }
            }
            Step::Rebase => self.rebase().await,
            Step::Advance(ms) => self.bench.advance(*ms),
            Step::NextSecond => self.bench.advance(1000 - now.unsigned_abs() % 1000),
            Step::Purge(grace) => self.purge(*grace).await?,
            Step::Outlook(setting) => self.outlook(*setting).await?,
            Step::Restart => self.bench.restart().await,
        }
        self.model.settle(self.bench.now());
        self.compare().await
    }

    async fn rebase(&mut self) {
        let rebase = self.bench.store().rebase(CID).await;
        assert_eq!(rebase.unwrap(), Rebased::Whole);
        self.model.rebase(self.bench.now());
    }

    async fn build(&mut self, slot: usize) {
        if let Some(index) = self.model.indexes[slot] {
            let build = self.bench.store().build_named_index(CID, index.number);
            build.await.unwrap();
            if !index.built {
                self.model.since = self.bench.now().unsigned_abs() / 1000;
                for item in &mut self.model.items {
                    item.undated[slot] = item.dead && item.write <= index.writes_before;
                }
            }
            let built = true;
            self.model.indexes[slot] = Some(Index { built, ..index });
        }
    }

    async fn put(&mut self, write: &Write) -> Result<(), TestCaseError> {
        let now = self.bench.now();
        let date = |by: i64| match by {
            i64::MIN | i64::MAX => by,
            by => now + by,
        };
        let base = |by: i64| match by {
            i64::MIN | i64::MAX => by,
            by => now / 1000 * 1000 + by * 500,
        };
        let mut item = Item {
            id: write.id,
            bases: write.bases.map(|by| by.map(base)),
            base: 0,
            based: None,
            a: write.a.map(date),
            b: write.b.map(date),
            ttl: write.ttl,
            done: write.done,
            unique: write.unique,
            written: now.unsigned_abs() / 1000,
            born: 0,
            charged: 0,
            write: self.model.births + 1,
            undated: [false; SLOTS],
            dead: false,
            buried: false,
            buried_by_ttl: false,
        };
        (item.base, item.based) = self.model.base_of(&item);
        let mut bytes = Vec::new();
        lapsedb_value::bson::write_document(&document(&item), &mut bytes);
        item.charged = bytes.len() as u64;
        let taken = item.unique.is_some()
            && self
                .model
                .living()
                .iter()
                .any(|other| other.unique == item.unique && other.id != item.id);
        match self.bench.put(document(&item)).await {
            Ok(()) => prop_assert!(!taken),
            Err(Refused::Duplicate(_)) => {
                prop_assert!(taken);
                return Ok(());
            }
            Err(other) => return Err(TestCaseError::fail(format!("{other:?}"))),
        }
        self.model.births += 1;
        let alive = self.model.living().into_iter();
        let mut old = alive.filter(|old| old.id == item.id).map(|old| old.born);
        item.born = old.next().unwrap_or(self.model.births);
        self.model.items.retain(|old| old.id != item.id);
        self.model.items.push(item);
        self.model.items.sort_by_key(|item| item.born);
        Ok(())
    }

    async fn purge(&mut self, grace: u64) -> Result<(), TestCaseError> {
        let (_, collection) = self.bench.look().await;
        let purge = self.bench.store();
        let purge = purge.purge(&collection, Millis(grace), u64::MAX);
        let purged = purge.await.unwrap();
        let now = self.bench.now().unsigned_abs();
        let horizon = now.saturating_sub(grace);
        let Tally { items, bytes } = sum(&self.model.purge(now, horizon, self.bench.is_on_disk()));
        prop_assert_eq!(purged, Purged { items, bytes });
        Ok(())
    }

    async fn outlook(&self, setting: Setting) -> Result<(), TestCaseError> {
        let (view, collection) = self.bench.look().await;
        let now = i128::from(self.bench.now());
        let living = self.model.living();
        let end = |item: &Item| self.model.end(setting, item);
        let part = |wanted: fn(Option<i128>, i128) -> bool| {
            sum(living.iter().copied().filter(|item| wanted(end(item), now)))
        };
        let said = Preview {
            at_once: part(|end, now| end.is_some_and(|end| end <= now)),
            later: part(|end, now| end.is_some_and(|end| end > now)),
            never: part(|end, _| end.is_none()),
        };
        prop_assert_eq!(view.preview(&collection, setting).await.unwrap(), said);
        let forecast = view.forecast(&collection, Width::Minute, 3).await.unwrap();
        let first = now / 60_000 * 60_000;
        let end = |item: &Item| self.model.end(self.model.setting, item);
        let within = |from: i128, to: i128| {
            let inside = |item: &&Item| end(item).is_some_and(|end| (from..to).contains(&end));
            sum(living.iter().copied().filter(inside))
        };
        for (at, (_, tally)) in (0..).zip(&forecast.buckets) {
            let start = first + at * 60_000;
            prop_assert_eq!(*tally, within(start, start + 60_000));
        }
        prop_assert_eq!(forecast.after, within(first + 180_000, i128::MAX));
        let never = |item: &&Item| end(item).is_none();
        prop_assert_eq!(forecast.never, sum(living.iter().copied().filter(never)));
        Ok(())
    }

    async fn compare(&self) -> Result<(), TestCaseError> {
        let living = self.model.living();
        let expected: Vec<_> = living.iter().map(|item| i64::from(item.id)).collect();
        prop_assert_eq!(self.bench.ids().await, expected);
        let (view, collection) = self.bench.look().await;
        let usage = view.usage(&collection).await.unwrap();
        prop_assert_eq!(usage.live, sum(living.iter().copied()));
        let dead = self.model.items.iter().filter(|item| item.dead);
        prop_assert_eq!(usage.expired, sum(dead));
        let ends = living
            .iter()
            .filter_map(|item| self.model.end(self.model.setting, item));
        let next = ends.min().map(|end| Millis(u64::try_from(end).unwrap()));
        prop_assert_eq!(usage.next_expiry, next);
        let index = collection.indexes.named("u").unwrap();
        let span = EntrySpan::named(&collection, index, &[], &[]);
        let page = view.entries(&collection, span, false, 1000).await.unwrap();
        let found: Vec<_> = page.entries.into_iter().map(|entry| entry.item).collect();
        let mut by_value: Vec<_> = living.iter().filter(|item| item.unique.is_some()).collect();
        by_value.sort_by_key(|item| item.unique);
        let keys = by_value
            .iter()
            .map(|item| Bench::key(&collection, item.id).0);
        prop_assert_eq!(found, keys.collect::<Vec<_>>());
        Ok(())
    }
}

fn any_write() -> impl Strategy<Value = Write> {
    let date = || {
        prop::option::of(prop_oneof![
            Just(-5000),
            Just(-1),
            Just(0),
            Just(1),
            Just(500),
            Just(1500),
            Just(5000),
            Just(100_000),
            Just(i64::MIN),
            Just(i64::MAX),
        ])
    };
    let ttl = prop_oneof![
        3 => Just(None),
        1 => Just(Some(-1)),
        1 => Just(Some(0)),
        1 => Just(Some(2)),
        1 => Just(Some(1000))
    ];
    let unique = prop::option::weighted(0.3, 0..3_u8);
    let base = || {
        let near = prop_oneof![Just(-300_i64), -12..12_i64, Just(20), Just(300)];
        prop::option::of(prop_oneof![
            9 => near,
            1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)],
        ])
    };
    let bases = (base(), base()).prop_map(|(c, d)| [c, d]);
    (0..IDS, date(), date(), ttl, any::<bool>(), unique, bases).prop_map(
        |(id, a, b, ttl, done, unique, bases)| Write {
            id,
            a,
            b,
            ttl,
            done,
            unique,
            bases,
        },
    )
}

fn any_setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        2 => Just(Setting::Off),
        1 => Just(Setting::On),
        2 => prop_oneof![Just(1), Just(5), Just(100)].prop_map(|life| Setting::OnWithDefault(Secs(life))),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let life = || prop_oneof![Just(0_u64), Just(1), Just(5), Just(60)];
    let advance = prop_oneof![Just(1_u64), Just(499), Just(1000), Just(1501), Just(60_000)];
    prop_oneof![
        60 => any_write().prop_map(Step::Put),
        10 => (0..IDS).prop_map(Step::Delete),
        15 => (0..SLOTS, life(), prop::bool::weighted(0.8)).prop_map(|(slot, life, build)| Step::Create(slot, life, build)),
        5 => (0..SLOTS).prop_map(Step::Build),
        8 => (0..SLOTS).prop_map(Step::Drop),
        12 => (0..SLOTS, life()).prop_map(|(slot, life)| Step::Life(slot, life)),
        10 => any_setting().prop_map(Step::Change),
        8 => (prop::option::of(0..PATHS.len()), prop::option::of(any_setting()), prop::bool::weighted(0.8))
            .prop_map(|(path, setting, build)| Step::Path(path, setting, build)),
        4 => Just(Step::Rebase),
        30 => advance.prop_map(Step::Advance),
        5 => Just(Step::NextSecond),
        10 => prop_oneof![Just(0_u64), Just(2000)].prop_map(Step::Purge),
        5 => any_setting().prop_map(Step::Outlook),
        2 => Just(Step::Restart),
    ]
}

/// Runs one story in a store of its own.
async fn compare_all(place: Place, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(place).await;
    let unique = IndexDefinition {
        unique: true,
        sparse: true,
        ..index("u", r#"{"u":1}"#)
    };
    bench.create(unique).await;
    let mut story = Story {
        model: Model {
            items: Vec::new(),
            indexes: [None; SLOTS],
            setting: Setting::Off,
            then: None,
            path: None,
            paths: 0,
            rebasing: false,
            since: bench.now().unsigned_abs() / 1000,
            rebased: 0,
            births: 0,
        },
        bench: &mut bench,
    };
    for step in steps {
        story.step(step).await?;
    }
    Ok(())
}

fn run(cases: u32, on_disk: bool) {
    let stories = proptest::collection::vec(any_step(), 1..60);
    bench::run_stories(cases, on_disk, stories, compare_all);
}

#[test]
fn in_memory_they_are_as_the_model() {
    run(300, false);
}

#[test]
fn on_disk_they_are_as_the_model() {
    run(15, true);
}

/// It ended by the first index, a millisecond after what is purged; by the second, which is built later, it would have ended before.
#[test]
fn an_index_gives_no_date_to_a_document_that_has_expired() {
    let write = Write {
        id: 0,
        a: Some(1500),
        b: None,
        ttl: None,
        done: true,
        unique: None,
        bases: [None, None],
    };
    let steps = [
        Step::NextSecond,
        Step::Create(0, 1, true),
        Step::Put(write),
        Step::Advance(2998),
        Step::Create(2, 0, true),
        Step::Advance(1501),
        Step::Purge(2000),
        Step::Advance(1000),
        Step::Purge(2000),
    ];
    lapsedb_testkit::run(compare_all(Place::Memory, &steps)).unwrap();
}

/// Who relies on settings that are gone has to look again.
#[test]
fn a_change_of_an_index_defeats_writers_that_began_before_it() {
    lapsedb_testkit::run(async {
        let bench = Bench::new(Place::Memory).await;
        let (number, _) = bench.create(date_index("d", "date", 5)).await;
        let (view, collection) = bench.look().await;
        let (key, partition) = Bench::key(&collection, 1);
        let mut txn = lapsedb_store::Txn::new(&view, &collection);
        let document = std::sync::Arc::new(bench::dated(1, bench.now()));
        let put = txn.put(&key, &partition, document).await.unwrap();
        assert!(put.is_ok());
        bench.expire_after(number, 6).await;
        assert!(matches!(
            txn.commit(bench.store()).await,
            Err(StoreError::Retry)
        ));
    });
}

/// What ends by its write is dropped on disk while bases are still to be found.
#[test]
fn a_ttl_that_counts_from_the_write_does_not_wait_for_bases() {
    let write = Write {
        id: 0,
        a: None,
        b: None,
        ttl: None,
        done: false,
        unique: None,
        bases: [None, None],
    };
    let steps = [
        Step::Change(Setting::OnWithDefault(Secs(1))),
        Step::Path(Some(0), None, false),
        Step::Put(write),
        Step::Advance(60_000),
        Step::Purge(2000),
    ];
    let folder = tempfile::TempDir::new().unwrap();
    let disk = Place::Disk(folder.path().to_path_buf());
    for place in [Place::Memory, disk] {
        lapsedb_testkit::run(compare_all(place, &steps)).unwrap();
    }
}
