//! When documents expire and what is told of it, among random writes, changes of the default, of the path of bases and of both at
//! once, moves of the clock and restarts, many of them in the same second: against a model that walks through time.

use std::collections::BTreeMap;

use crate::bench::{self, Bench, CID, object};
use lapsedb_record::{Millis, Secs, Setting};
use lapsedb_store::{
    ChangeLimits, EventKind, EventPlace, Events, ItemRange, Place, Preview, Source, Tally, Width,
    keys,
};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

const IDS: i32 = 5;
const PATHS: [&str; 2] = ["/c", "/n/d"];
const SECOND: i128 = 1000;

#[derive(Clone, Debug)]
enum Step {
    /// A document with a ttl, and with bases at both paths by their distance from now in halves of a second.
    Put(i32, Option<i32>, [Option<i64>; 2]),
    Delete(i32),
    /// The default or the path or both; perhaps documents get their bases at once.
    Ttl(Option<Setting>, Option<Option<usize>>, bool),
    Rebase,
    Advance(u64),
    Tell,
    Restart,
    Outlook(Setting),
}

#[derive(Clone, Debug)]
struct Item {
    ttl: Option<i32>,
    /// Seconds at both paths, as milliseconds.
    bases: [Option<i128>; 2],
    /// The second of the write, as milliseconds.
    written: i128,
    /// What its life is counted from.
    base: i128,
    charged: u64,
}

/// What is told of a document, and its second.
type Told = (EventKind, u64);

struct Model {
    items: BTreeMap<i32, Item>,
    told: BTreeMap<i32, Vec<Told>>,
    setting: Setting,
    /// The setting that comes into force when documents have their bases.
    then: Option<Setting>,
    path: Option<usize>,
    /// When the path was changed, if documents are still to be gone through.
    moved: Option<i128>,
}

impl Model {
    fn end(setting: Setting, item: &Item) -> Option<i128> {
        let after = |life: u64| Some(item.base + i128::from(life) * SECOND);
        match (setting, item.ttl) {
            (Setting::Off, _) | (_, Some(-1)) => None,
            (_, Some(own)) => after(own.unsigned_abs().into()),
            (Setting::On, None) => None,
            (Setting::OnWithDefault(life), None) => after(life.0),
        }
    }

    fn base(&self, item: &Item) -> i128 {
        let base = self.path.and_then(|path| item.bases[path]);
        base.unwrap_or(item.written)
    }

    /// Lets time pass up to an instant: whoever is past its end has expired at its end, or when the end came to be so.
    fn settle(&mut self, now: i128, changed: i128) {
        let setting = self.setting;
        let end = |item: &Item| Self::end(setting, item).filter(|end| *end <= now);
        let dead: Vec<_> = self
            .items
            .iter()
            .filter_map(|(id, item)| Some((*id, end(item)?.max(changed).max(item.written))))
            .collect();
        for (id, moment) in dead {
            self.items.remove(&id);
            self.tell(id, EventKind::Expire, moment);
        }
    }

    fn tell(&mut self, id: i32, kind: EventKind, at: i128) {
        let at = u64::try_from(at / SECOND).unwrap();
        self.told.entry(id).or_default().push((kind, at));
    }

    fn change(&mut self, setting: Setting, path: Option<usize>, now: i128) {
        let moves = path != self.path;
        let waits = (moves || self.moved.is_some()) && setting != self.setting;
        if waits || self.then.is_some() {
            self.then = Some(setting).filter(|setting| *setting != Setting::Off);
            self.setting = Setting::Off;
        } else {
            self.setting = setting;
        }
        if moves {
            (self.path, self.moved) = (path, Some(now));
        }
        self.settle(now, now);
    }

    fn rebase(&mut self, now: i128) {
        let Some(moved) = self.moved.take() else {
            return;
        };
        for id in self.items.keys().copied().collect::<Vec<_>>() {
            let base = self.base(&self.items[&id]);
            self.items.entry(id).and_modify(|item| item.base = base);
        }
        // It is the change of the path that has ended them.
        self.settle(now, moved);
        if let Some(then) = self.then.take() {
            self.setting = then;
            self.settle(now, now);
        }
    }
}

struct Story {
    bench: Bench,
    model: Model,
    place: EventPlace,
    seen: BTreeMap<i32, Vec<Told>>,
}

impl Story {
    fn now(&self) -> i128 {
        self.bench.now().into()
    }

    async fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let now = self.now();
        match step {
            Step::Put(id, ttl, bases) => self.put(*id, *ttl, *bases).await?,
            Step::Delete(id) => {
                if self.model.items.remove(id).is_some() {
                    self.bench.delete(*id).await;
                    self.model.tell(*id, EventKind::Delete, now);
                }
            }
            Step::Ttl(setting, path, build) => {
                let wanted = self.model.then.unwrap_or(self.model.setting);
                let setting = setting.unwrap_or(wanted);
                let path = path.unwrap_or(self.model.path);
                let parsed = path.map(|path| Path::parse_pointer(PATHS[path]).unwrap());
                self.bench.ttl(setting, parsed.as_ref()).await;
                self.model.change(setting, path, now);
                if *build {
                    self.rebase().await;
                }
            }
            Step::Rebase => self.rebase().await,
            Step::Advance(ms) => self.bench.advance(*ms),
            Step::Tell => {
                self.bench.store().tell_expiries(CID, 2).await.unwrap();
            }
            Step::Restart => self.bench.restart().await,
            Step::Outlook(setting) => self.outlook(*setting).await?,
        }
        self.model.settle(self.now(), 0);
        let living: Vec<_> = self.model.items.keys().map(|id| i64::from(*id)).collect();
        let mut ids = self.bench.ids().await;
        ids.sort_unstable();
        prop_assert_eq!(ids, living);
        self.look(false).await
    }

    async fn rebase(&mut self) {
        self.bench.store().rebase(CID).await.unwrap();
        self.model.rebase(self.now());
    }

    async fn put(
        &mut self,
        id: i32,
        ttl: Option<i32>,
        bases: [Option<i64>; 2],
    ) -> Result<(), TestCaseError> {
        let now = self.now();
        let written = now / SECOND * SECOND;
        let mut item = Item {
            ttl,
            bases: bases.map(|by| by.map(|by| written + i128::from(by) * 500)),
            written,
            base: 0,
            charged: 0,
        };
        item.base = self.model.base(&item);
        let document = document(id, &item);
        let mut bytes = Vec::new();
        lapsedb_value::bson::write_document(&document, &mut bytes);
        item.charged = bytes.len() as u64;
        let put = self.bench.put(document).await;
        prop_assert!(put.is_ok(), "{put:?}");
        let kind = match self.model.items.insert(id, item) {
            Some(_) => EventKind::Replace,
            None => EventKind::Create,
        };
        self.model.tell(id, kind, now);
        self.model.settle(now, 0);
        Ok(())
    }

    /// What was told is what the model tells, in order; what is missing are expiries, and in the end nothing is.
    async fn look(&mut self, all: bool) -> Result<(), TestCaseError> {
        let (view, collection) = self.bench.look().await;
        let range = ItemRange::Everything;
        let limits = ChangeLimits {
            items_max: usize::MAX,
            bytes_max: usize::MAX,
            entries_max: u64::MAX,
        };
        let sources = [Source::Items(&collection, &range)];
        let found = view.events(&sources, self.place, limits).await.unwrap();
        let Events::Page(page) = found else {
            return Err(TestCaseError::fail("forgotten"));
        };
        for event in page.events {
            let (_, id) = keys::address_of(&collection, &event.key).unwrap();
            prop_assert_eq!(event.happened, event.at.secs());
            let seen = self.seen.entry(id.parse().unwrap()).or_default();
            seen.push((event.kind, event.happened.0));
        }
        self.place = page.next;
        for (id, told) in &self.model.told {
            let seen = self.seen.get(id).map_or(&[][..], Vec::as_slice);
            let (now, later) = told.split_at(seen.len().min(told.len()));
            prop_assert_eq!(seen, now, "document {}", id);
            let expiries = later.iter().all(|(kind, _)| *kind == EventKind::Expire);
            prop_assert!(expiries && later.len() <= usize::from(!all), "{:?}", later);
        }
        Ok(())
    }

    async fn outlook(&self, setting: Setting) -> Result<(), TestCaseError> {
        let (view, collection) = self.bench.look().await;
        let now = self.now();
        let sum = |wanted: &dyn Fn(&Item) -> bool| {
            let items = self.model.items.values().filter(|item| wanted(item));
            items.fold(Tally::default(), |sum, item| Tally {
                items: sum.items + 1,
                bytes: sum.bytes + item.charged,
            })
        };
        let end = |item: &Item| Model::end(setting, item);
        let said = Preview {
            at_once: sum(&|item| end(item).is_some_and(|end| end <= now)),
            later: sum(&|item| end(item).is_some_and(|end| end > now)),
            never: sum(&|item| end(item).is_none()),
        };
        prop_assert_eq!(view.preview(&collection, setting).await.unwrap(), said);
        let forecast = view.forecast(&collection, Width::Minute, 2).await.unwrap();
        let end = |item: &Item| Model::end(self.model.setting, item);
        prop_assert_eq!(forecast.never, sum(&|item| end(item).is_none()));
        let first = now / 60_000 * 60_000;
        for (at, (_, tally)) in (0..).zip(&forecast.buckets) {
            let minute = first + at * 60_000..first + (at + 1) * 60_000;
            let inside = |item: &Item| end(item).is_some_and(|end| minute.contains(&end));
            prop_assert_eq!(*tally, sum(&inside));
        }
        let next = self.model.items.values().filter_map(end).min();
        let next = next.map(|end| Millis(u64::try_from(end).unwrap()));
        let usage = view.usage(&collection).await.unwrap();
        prop_assert_eq!(usage.next_expiry, next);
        Ok(())
    }
}

fn document(id: i32, item: &Item) -> Object {
    let mut document = object("{}");
    document.push("_id", Value::Int32(id));
    if let Some(ttl) = item.ttl {
        document.push("ttl", Value::Int32(ttl));
    }
    let [c, d] = item
        .bases
        .map(|base| base.map_or(Value::Null, |ms| Value::Double(ms as f64 / 1000.0)));
    document.push("c", c);
    let mut inner = Object::new();
    inner.push("d", d);
    document.push("n", Value::Object(inner));
    document
}

fn any_setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        Just(Setting::Off),
        Just(Setting::On),
        prop_oneof![Just(1), Just(3), Just(10), Just(60)]
            .prop_map(|life| Setting::OnWithDefault(Secs(life))),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let ttl =
        prop_oneof![3 => Just(None), 1 => Just(Some(-1)), 1 => Just(Some(2)), 1 => Just(Some(20))];
    let base = || {
        prop::option::weighted(
            0.8,
            prop_oneof![3 => -12..12_i64, 1 => Just(-100), 1 => Just(100)],
        )
    };
    let path = || prop::option::of(0..PATHS.len());
    let built = || prop::bool::weighted(0.8);
    let advance = prop_oneof![
        Just(1_u64),
        Just(499),
        Just(500),
        Just(1000),
        Just(2501),
        Just(20_000)
    ];
    prop_oneof![
        10 => (0..IDS, ttl, base(), base()).prop_map(|(id, ttl, c, d)| Step::Put(id, ttl, [c, d])),
        1 => (0..IDS).prop_map(Step::Delete),
        3 => any_setting().prop_map(|setting| Step::Ttl(Some(setting), None, false)),
        2 => (path(), built()).prop_map(|(path, build)| Step::Ttl(None, Some(path), build)),
        3 => (any_setting(), path(), built()).prop_map(|(setting, path, build)| Step::Ttl(Some(setting), Some(path), build)),
        1 => Just(Step::Rebase),
        4 => advance.prop_map(Step::Advance),
        1 => Just(Step::Tell),
        1 => Just(Step::Restart),
        2 => any_setting().prop_map(Step::Outlook),
    ]
}

async fn compare(place: Place, steps: &[Step]) -> Result<(), TestCaseError> {
    let bench = Bench::new(place).await;
    bench.store().keep_versions(CID).await.unwrap();
    let (view, _) = bench.look().await;
    let place = EventPlace::end_of(view.lsn());
    drop(view);
    let mut story = Story {
        bench,
        model: Model {
            items: BTreeMap::new(),
            told: BTreeMap::new(),
            setting: Setting::Off,
            then: None,
            path: None,
            moved: None,
        },
        place,
        seen: BTreeMap::new(),
    };
    for step in steps {
        story.step(step).await?;
    }
    let tell = story.bench.store().tell_expiries(CID, u64::MAX);
    tell.await.unwrap();
    story.look(true).await
}

fn run(cases: u32, on_disk: bool) {
    let stories = proptest::collection::vec(any_step(), 1..50);
    bench::run_stories(cases, on_disk, stories, compare);
}

#[test]
fn in_memory_they_are_as_the_model() {
    run(300, false);
}

#[test]
fn on_disk_they_are_as_the_model() {
    run(15, true);
}
