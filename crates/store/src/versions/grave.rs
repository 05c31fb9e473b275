//! Graves: collections that are gone, but whose versions somebody may still have to read.

use lapsedb_kv::{Engine, Snapshot, Space};
use lapsedb_record::Secs;
use lapsedb_value::{Object, Str, Value};

use crate::catalog::{Collection, MetaRecord};
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, MetaKind};
use crate::versions::history::{number, unsigned};
use crate::view::View;
use crate::{MetaChange, Store};

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

impl Grave {
    pub(crate) fn of_record(record: &MetaRecord) -> Result<Grave> {
        read(record).ok_or_else(|| StoreError::Corrupt("a grave cannot be read".into()))
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
    /// Clears graves whose versions are kept no longer.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when the catalog has changed; otherwise when the engine fails.
    pub async fn clear_graves(&self, view: &View) -> Result<()> {
        let now = view.now().secs();
        for grave in view.catalog().graves() {
            if grave.dropped.plus(grave.retention) >= now {
                continue;
            }
            let mut change = MetaChange::default();
            change.delete(key(grave.cid));
            change.forget_versions(grave.cid);
            return self.change_catalog(view, change).await.map(|_| ());
        }
        Ok(())
    }

    /// Whether a dropped collection's versions stay.
    pub(crate) async fn has_grave(&self, cid: CollectionId) -> Result<bool> {
        let snapshot = self.engine().snapshot().await?;
        Ok(snapshot.get(Space::Meta, &key(cid)).await?.is_some())
    }
}
