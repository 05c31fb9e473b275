//! Watches: who follows collections by name, so that what is made later under the name is kept from its first change on.
//!
//! A watch is a catalog record, so every node knows it, and making a collection is decided on a catalog that has it or not.

use lapsedb_record::Secs;
use lapsedb_value::{Object, Str, Value};

use crate::catalog::{Catalog, MetaRecord, Ordered};
use crate::error::{Result, StoreError};
use crate::keys::{self, MetaKind};
use crate::versions::history::{number, unsigned};
use crate::view::View;
use crate::{MetaChange, Store};

/// How often a change that others got ahead of is tried again.
const RETRIES_MAX: usize = 100;
/// How exactly it is known when a reader last came: to this part of the retention.
const READ_PARTS: u64 = 16;

/// Watches that one change ends at most.
const ENDED_AT_ONCE_MAX: usize = 1000;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched<'a> {
    /// Every collection there is and will be.
    Everything,
    /// Every collection of a database.
    Database(&'a str),
    /// One collection, by the names of its database and its own.
    Collection(&'a str, &'a str),
}

impl Watched<'_> {
    /// Names of databases have no dot, so no two watches have the same name.
    fn name(self) -> String {
        match self {
            Watched::Everything => String::new(),
            Watched::Database(database) => database.to_owned(),
            Watched::Collection(database, collection) => format!("{database}.{collection}"),
        }
    }
}

/// A watch as the catalog has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The commit that began it: everything behind it is kept.
    pub floor: u64,
    /// The second of that commit.
    pub began: Secs,
    /// When a reader last came, about.
    pub read: Secs,
    /// How long it is kept without readers, and how long events are.
    pub retention: Secs,
}

/// All watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    by_name: Ordered<Str, Watch>,
    /// By the second in which they end without a reader.
    by_end: Ordered<(Secs, Str), ()>,
    by_retention: Ordered<(Secs, Str), ()>,
}

impl Watches {
    pub(crate) fn insert(&mut self, record: &MetaRecord) -> Result<()> {
        let (name, watch) =
            read(record).ok_or_else(|| StoreError::Corrupt("a watch cannot be read".into()))?;
        self.by_end.insert_mut((watch.end(), name.clone()), ());
        self.by_retention
            .insert_mut((watch.retention, name.clone()), ());
        self.by_name.insert_mut(name, watch);
        Ok(())
    }

    /// Takes the watch out whose record has this key.
    pub(crate) fn remove(&mut self, record: &[u8]) {
        let name = record.get(keys::meta_all(MetaKind::Watch).len()..);
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        let known = name.and_then(|name| self.by_name.get_key_value(name));
        if let Some((name, watch)) = known.map(|(name, watch)| (name.clone(), *watch)) {
            self.by_end.remove_mut(&(watch.end(), name.clone()));
            self.by_retention
                .remove_mut(&(watch.retention, name.clone()));
            self.by_name.remove_mut(&name);
        }
    }

    /// All that they say, for tests.
    #[cfg(test)]
    pub(crate) fn described(&self) -> [String; 3] {
        use crate::catalog::in_order;
        [
            in_order(&self.by_name),
            in_order(&self.by_end),
            in_order(&self.by_retention),
        ]
    }

    /// The keys of their records.
    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        self.by_name.keys().map(|name| key(name)).collect()
    }

    fn get(&self, watched: Watched<'_>) -> Option<&Watch> {
        self.by_name.get(watched.name().as_str())
    }

    /// The names of those that have ended before a second, the first ones first.
    fn ended(&self, before: Secs) -> impl Iterator<Item = &Str> {
        let in_order = self.by_end.keys();
        let ended = in_order.take_while(move |(end, _)| *end < before);
        ended.map(|(_, name)| name)
    }
}

impl Watch {
    fn end(&self) -> Secs {
        self.read.plus(self.retention)
    }
}

fn read(record: &MetaRecord) -> Option<(Str, Watch)> {
    let long = |name: &str| unsigned(record.body.get(name)?);
    let Some(Value::String(name)) = record.body.get("name") else {
        return None;
    };
    let (floor, began) = match record.body.get("floor")? {
        Value::Null => (record.lsn, record.written),
        value => (unsigned(value)?, Secs(long("began")?)),
    };
    let watch = Watch {
        floor,
        began,
        read: Secs(long("read")?),
        retention: Secs(long("retention")?),
    };
    Some((name.clone(), watch))
}

fn key(name: &str) -> Vec<u8> {
    let mut key = keys::meta_all(MetaKind::Watch);
    key.extend_from_slice(name.as_bytes());
    key
}

fn body(name: &str, known: Option<Watch>, read: Secs, retention: Secs) -> Object {
    let mut body = Object::new();
    body.push("name", name);
    match known {
        // The commit that writes it begins it.
        None => body.push("floor", Value::Null),
        Some(known) => {
            body.push("floor", number(known.floor));
            body.push("began", number(known.began.0));
        }
    }
    body.push("read", number(read.0));
    body.push("retention", number(retention.0));
    body
}

impl Catalog {
    /// The watches that cover what is watched: its own, and those of more.
    fn covering(&self, watched: Watched<'_>) -> impl Iterator<Item = &Watch> {
        let wider = match watched {
            Watched::Everything => [None, None],
            Watched::Database(_) => [Some(Watched::Everything), None],
            Watched::Collection(database, _) => {
                [Some(Watched::Everything), Some(Watched::Database(database))]
            }
        };
        let all = [Some(watched)].into_iter().chain(wider).flatten();
        all.filter_map(|watched| self.watches.get(watched))
    }

    /// The first commit, and its second, from which on everything that is watched is kept; none, if nobody watches it.
    #[must_use]
    pub fn watched_since(&self, watched: Watched<'_>) -> Option<(u64, Secs)> {
        self.covering(watched)
            .map(|watch| (watch.floor, watch.began))
            .min()
    }

    /// How long what is watched is kept; none, if nobody watches it.
    #[must_use]
    pub fn watch_retention(&self, watched: Watched<'_>) -> Option<Secs> {
        self.covering(watched).map(|watch| watch.retention).max()
    }

    /// When a reader of what is watched last came, about; none, if nobody watches it.
    pub(crate) fn watch_read(&self, watched: Watched<'_>) -> Option<Secs> {
        self.covering(watched).map(|watch| watch.read).max()
    }

    /// The longest retention of all watches.
    pub(crate) fn longest_watch(&self) -> Option<Secs> {
        let longest = self.watches.by_retention.last();
        longest.map(|((retention, _), ())| *retention)
    }
}

impl Store {
    /// Notes that somebody watches. What is made from then on under the name is kept from its first change on; what is there
    /// already is not touched, see [`Store::keep_versions`]. Says whether it is kept for as long as before.
    ///
    /// # Errors
    /// When the engine fails, or others were always faster.
    pub async fn watch(&self, watched: Watched<'_>, retention: Secs) -> Result<bool> {
        let name = watched.name();
        for _ in 0..RETRIES_MAX {
            let view = self.view().await?;
            let now = view.now().secs();
            let known = view.catalog().watches.get(watched).copied();
            let step = Secs(retention.0 / READ_PARTS);
            if let Some(known) = known
                && known.read.plus(step) > now
                && known.retention == retention
            {
                return Ok(true);
            }
            let same = known.is_some_and(|known| known.retention == retention);
            let mut change = MetaChange::default();
            change.put(key(&name), body(&name, known, now, retention));
            match self.change_catalog(&view, change).await {
                Err(StoreError::Retry) => tokio::task::yield_now().await,
                outcome => return outcome.map(|_| same),
            }
        }
        Err(StoreError::Retry)
    }

    /// Ends watches that no reader has come to for their retention, a number of them at a time.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when the catalog has changed; otherwise when the engine fails.
    pub async fn end_watches(&self, view: &View) -> Result<()> {
        let now = view.now().secs();
        let mut change = MetaChange::default();
        let mut any = false;
        for name in view.catalog().watches.ended(now).take(ENDED_AT_ONCE_MAX) {
            change.delete(key(name));
            any = true;
        }
        if any {
            self.change_catalog(view, change).await?;
        }
        Ok(())
    }
}
