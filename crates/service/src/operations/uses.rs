//! How often each collection was used, and how long that took.

use std::collections::HashMap;
use std::time::Duration;

use lapsedb_value::{Object, Value};
use parking_lot::Mutex;

use super::Kind;

/// Collections that are counted; what comes beyond is not.
const COLLECTIONS_MAX: usize = 10_000;

/// How often something was done, and how long it took in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// How often.
    pub count: u64,
    /// How long, in microseconds.
    pub micros: u64,
}

impl Use {
    fn add(&mut self, other: Use) {
        self.count += other.count;
        self.micros = self.micros.saturating_add(other.micros);
    }

    fn shown(self) -> Value {
        let number = |n: u64| Value::Int64(i64::try_from(n).unwrap_or(i64::MAX));
        let mut object = Object::with_capacity(2);
        object.push("time", number(self.micros));
        object.push("count", number(self.count));
        Value::Object(object)
    }
}

type Kinds = [Use; Kind::ALL.len()];
type Collections = HashMap<Box<str>, Kinds>;

/// What was done to each collection, by database and name.
#[derive(Default)]
pub struct Uses(Mutex<HashMap<Box<str>, Collections>>);

impl Uses {
    /// A command about a collection has ended.
    pub fn add(&self, database: &str, collection: &str, kind: Kind, took: Duration) {
        let used = Use {
            count: 1,
            micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        };
        let mut all = self.0.lock();
        let known = all
            .get_mut(database)
            .and_then(|all| all.get_mut(collection));
        if let Some(kinds) = known {
            kinds[kind as usize].add(used);
            return;
        }
        if all.values().map(HashMap::len).sum::<usize>() < COLLECTIONS_MAX {
            let kinds = all.entry(database.into()).or_default();
            kinds.entry(collection.into()).or_default()[kind as usize].add(used);
        }
    }

    /// A collection is no more; without a name, the whole database.
    pub fn forget(&self, database: &str, collection: Option<&str>) {
        let mut all = self.0.lock();
        match collection {
            Some(collection) => {
                if let Some(kinds) = all.get_mut(database) {
                    kinds.remove(collection);
                }
            }
            None => {
                all.remove(database);
            }
        }
    }

    /// All of it, sorted by name.
    pub fn shown(&self) -> Object {
        let all = self.0.lock();
        let mut sorted = Vec::new();
        for (database, collections) in all.iter() {
            for (name, kinds) in collections {
                sorted.push((format!("{database}.{name}"), *kinds));
            }
        }
        sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut object = Object::with_capacity(sorted.len() + 1);
        object.push("note", "all times in microseconds");
        for (name, kinds) in sorted {
            object.push(name, Value::Object(one(&kinds)));
        }
        object
    }
}

fn one(kinds: &Kinds) -> Object {
    let sum = |wanted: fn(Kind) -> bool| {
        let mut sum = Use::default();
        for kind in Kind::ALL.into_iter().filter(|kind| wanted(*kind)) {
            sum.add(kinds[kind as usize]);
        }
        sum
    };
    let mut object = Object::with_capacity(9);
    object.push("total", sum(|_| true).shown());
    object.push("readLock", sum(|kind| !kind.writes()).shown());
    object.push("writeLock", sum(Kind::writes).shown());
    for kind in [
        Kind::Query,
        Kind::GetMore,
        Kind::Insert,
        Kind::Update,
        Kind::Delete,
        Kind::Command,
    ] {
        object.push(kind.in_top(), kinds[kind as usize].shown());
    }
    object
}
