//! Graves: collections that are gone, but whose versions somebody may still have to read.

use std::sync::Arc;

use lapsedb_kv::{Engine, Snapshot, Space};
use lapsedb_record::Secs;
use lapsedb_value::{Object, Str, Value};

use crate::catalog::{Catalog, Collection, MetaRecord, Ordered};
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, MetaKind};
use crate::versions::history::{number, unsigned};
use crate::view::View;
use crate::{MetaChange, Store};

/// Dropped collections that one change forgets at most.
const CLEARED_AT_ONCE_MAX: usize = 100;

/// A collection that was dropped while its versions were kept.
#[derive(Clone, Debug)]
pub struct Grave {
    /// Its number.
    pub cid: CollectionId,
    /// The name of its database.
    pub database: Str,
    /// The name it had last.
    pub id: Str,
    /// What the Mongo door kept of it.
    pub mongo: Object,
    /// The commit that dropped it.
    pub lsn: u64,
    /// The second of that commit.
    pub dropped: Secs,
    /// How long its versions are kept.
    pub retention: Secs,
}

/// All dropped collections whose versions are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graves {
    by_number: Ordered<CollectionId, Arc<Grave>>,
    /// By the names of their databases and their own.
    by_name: Ordered<(Str, Str, CollectionId), Arc<Grave>>,
    /// By the second up to which their versions are kept.
    by_end: Ordered<(Secs, CollectionId), ()>,
}

impl Graves {
    pub(crate) fn insert(&mut self, record: &MetaRecord) -> Result<()> {
        let unreadable = || StoreError::Corrupt("a dropped collection cannot be read".into());
        let grave = Arc::new(read(record).ok_or_else(unreadable)?);
        self.by_end.insert_mut((grave.end(), grave.cid), ());
        self.by_name.insert_mut(grave.name(), Arc::clone(&grave));
        self.by_number.insert_mut(grave.cid, grave);
        Ok(())
    }

    pub(crate) fn remove(&mut self, cid: CollectionId) {
        if let Some(old) = self.by_number.get(&cid).cloned() {
            self.by_end.remove_mut(&(old.end(), cid));
            self.by_name.remove_mut(&old.name());
            self.by_number.remove_mut(&cid);
        }
    }

    /// All that they say, for tests.
    #[cfg(test)]
    pub(crate) fn described(&self) -> [String; 3] {
        use crate::catalog::in_order;
        [
            in_order(&self.by_number),
            in_order(&self.by_name),
            in_order(&self.by_end),
        ]
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = &CollectionId> {
        self.by_number.keys()
    }

    /// Those whose versions are kept no longer at a second, the first ones first.
    fn ended(&self, at: Secs) -> impl Iterator<Item = CollectionId> {
        let in_order = self.by_end.keys();
        let ended = in_order.take_while(move |(end, _)| *end < at);
        ended.map(|(_, cid)| *cid)
    }
}

impl Catalog {
    /// A dropped collection whose versions are kept, by its number.
    #[must_use]
    pub fn grave(&self, cid: CollectionId) -> Option<&Arc<Grave>> {
        self.graves.by_number.get(&cid)
    }

    /// Those of some numbers that were dropped and whose versions are kept.
    #[must_use]
    pub fn graves_numbered(&self, cids: &[CollectionId]) -> Vec<Arc<Grave>> {
        self.listed(cids.iter().filter_map(|cid| self.grave(*cid)))
    }

    /// The dropped collections of a database whose versions are kept: all of them, or those that had a name.
    #[must_use]
    pub fn graves_in(&self, database: &str, id: Option<&str>) -> Vec<Arc<Grave>> {
        let from = (
            Str::from(database),
            Str::from(id.unwrap_or_default()),
            CollectionId(0),
        );
        let behind = self.graves.by_name.range(from..);
        let own = behind
            .take_while(|((of, name, _), _)| *of == database && id.is_none_or(|id| *name == id));
        self.listed(own.map(|(_, grave)| grave))
    }

    /// All dropped collections whose versions are kept.
    #[must_use]
    pub fn graves(&self) -> Vec<Arc<Grave>> {
        self.listed(self.graves.by_number.values())
    }
}

impl Grave {
    fn end(&self) -> Secs {
        self.dropped.plus(self.retention)
    }

    fn name(&self) -> (Str, Str, CollectionId) {
        (self.database.clone(), self.id.clone(), self.cid)
    }

    pub(crate) fn body(database: &str, collection: &Collection) -> Object {
        let mut body = Object::new();
        body.push("number", Value::Int64(i64::from(collection.cid.0)));
        body.push("database", database);
        body.push("id", Value::String(collection.id.clone()));
        let mongo = collection.mongo.as_deref().cloned().unwrap_or_default();
        body.push("mongo", Value::Object(mongo));
        body.push("retention", number(collection.retention().0));
        body
    }
}

fn read(record: &MetaRecord) -> Option<Grave> {
    let text = |name: &str| match record.body.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    Some(Grave {
        cid: CollectionId(u32::try_from(unsigned(record.body.get("number")?)?).ok()?),
        database: text("database")?,
        id: text("id")?,
        mongo: record.body.get("mongo")?.as_object()?.clone(),
        lsn: record.lsn,
        dropped: record.written,
        retention: Secs(unsigned(record.body.get("retention")?)?),
    })
}

/// Key of a grave.
pub(crate) fn key(cid: CollectionId) -> Vec<u8> {
    keys::meta_numbered(MetaKind::Grave, cid.0)
}

impl Store {
    /// Forgets dropped collections whose versions are kept no longer, and removes those, a number of them at a time.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when the catalog has changed; otherwise when the engine fails.
    pub async fn clear_graves(&self, view: &View) -> Result<()> {
        let mut change = MetaChange::default();
        let ended = view.catalog().graves.ended(view.now().secs());
        let ended: Vec<_> = ended.take(CLEARED_AT_ONCE_MAX).collect();
        for cid in &ended {
            change.delete(key(*cid));
            change.forget_versions(*cid);
        }
        if !ended.is_empty() {
            self.change_catalog(view, change).await?;
        }
        for cid in ended {
            self.recent.forget(cid);
        }
        Ok(())
    }

    /// Whether a dropped collection's versions stay.
    pub(crate) async fn has_grave(&self, cid: CollectionId) -> Result<bool> {
        let snapshot = self.engine().snapshot().await?;
        Ok(snapshot.get(Space::Meta, &key(cid)).await?.is_some())
    }
}
