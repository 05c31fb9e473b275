//! What has become of collections that somebody follows: made, changed, renamed, dropped. Told with the change itself, in
//! the order of commits, beside the versions of their items and for as long.
//!
//! An event holds the collection's record before and after; what that means to a client is the reader's affair.

use lapsedb_kv::{Batch, Engine, Scan, Snapshot, Space, Template};
use lapsedb_record::{Millis, Secs};
use lapsedb_value::{Object, Str, Value};

use crate::catalog::{Catalog, Collection, MetaRecord, collection_of};
use crate::change::MetaChange;
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, MetaKind};
use crate::versions::event::{Place, key_after, key_next};
use crate::versions::history::VERSIONS_RETENTION_SECS;
use crate::versions::state::{self, State};
use crate::versions::watch::Watched;
use crate::view::View;
use crate::{Store, meta_value};

/// The number under which the log lies: no collection has it.
pub(crate) const CATALOG_LOG: CollectionId = CollectionId(0);
/// Events that one look reads.
const STEP_ROWS_MAX: usize = 256;
/// Bytes of them.
const STEP_BYTES_MAX: usize = 4 << 20;

/// A change of a collection, or the end of a database.
#[derive(Clone, Debug)]
pub struct CatalogEvent {
    /// Where it stands.
    pub place: Place,
    /// The second of the commit.
    pub committed: Secs,
    /// The same to the millisecond.
    pub at: Millis,
    /// The name of the database.
    pub database: Str,
    /// The collection before; none if it was made.
    pub before: Option<Box<Collection>>,
    /// The collection after; none if it is gone. With neither, the database is gone.
    pub after: Option<Box<Collection>>,
    /// The collection that had the new name and was dropped for it.
    pub replaced: Option<Object>,
    /// What was asked of the collection.
    pub asked: Option<Object>,
    /// The view that this is about; then there is no collection.
    pub view: Option<ViewEvent>,
}

/// A change of a view.
#[derive(Clone, Debug)]
pub struct ViewEvent {
    /// Its name.
    pub id: Str,
    /// What it showed before; none if it was made.
    pub before: Option<Object>,
    /// What it shows now; none if it is gone.
    pub after: Option<Object>,
}

/// The events that a change tells.
pub(crate) fn events(catalog: &Catalog, change: &MetaChange) -> Vec<Object> {
    let mut told = Vec::new();
    let mut replaced = Vec::new();
    for (key, body) in &change.puts {
        let Some((cid, database)) = followed(catalog, change, key, body) else {
            continue;
        };
        let old = catalog.collection_numbered(cid);
        let before = old.map(|old| old.body().into_object());
        let asked = change.asked.as_ref().filter(|(asked, _)| *asked == cid);
        if asked.is_none() && before.as_ref().is_some_and(|before| alike(before, body)) {
            continue;
        }
        // The collection that gives its name to this one is gone without a word of its own.
        let name = body.get("id").and_then(Value::as_str).unwrap_or_default();
        let target = change.drops.iter().find_map(|dropped| {
            let dropped = catalog.collection_numbered(*dropped)?;
            (dropped.id == name && u32_of(body, "database") == Some(dropped.database))
                .then_some(dropped)
        });
        replaced.extend(target.map(|target| target.cid));
        let mongo = target.and_then(|target| target.mongo.as_deref().cloned());
        let mut told_one = event(&database, before, Some(body.clone()), mongo);
        if let Some((_, asked)) = asked {
            told_one.push("asked", Value::Object(asked.clone()));
        }
        told.push(told_one);
    }
    told.extend(view_events(catalog, change));
    for cid in &change.drops {
        let Some(collection) = catalog.collection_numbered(*cid) else {
            continue;
        };
        let Some(database) = catalog.database_numbered(collection.database) else {
            continue;
        };
        let watched = Watched::Collection(&database.id, &collection.id);
        let follows = collection.history.kept || catalog.watched_since(watched).is_some();
        if follows && collection.mongo.is_some() && !replaced.contains(cid) {
            let before = collection.body().into_object();
            told.push(event(&database.id, Some(before), None, None));
        }
    }
    if let Some(database) = &change.drops_database
        && (!told.is_empty() || catalog.watched_since(Watched::Database(database)).is_some())
    {
        told.push(event(database, None, None, None));
    }
    told
}

/// What a change tells of views. They have no items, so only who follows their names is told.
fn view_events(catalog: &Catalog, change: &MetaChange) -> Vec<Object> {
    let kind = keys::meta_all(MetaKind::View);
    let mut told = Vec::new();
    let mut tell = |number: u32, id: &str, before: Option<&Object>, after: Option<&Object>| {
        let Some(database) = database_name(catalog, change, number) else {
            return;
        };
        let watched = Watched::Collection(&database, id);
        if catalog.watched_since(watched).is_none() {
            return;
        }
        let mut one = event(&database, before.cloned(), after.cloned(), None);
        one.push("view", id);
        told.push(one);
    };
    for (key, body) in change.puts.iter().filter(|(key, _)| key.starts_with(&kind)) {
        let (Some(number), Some(id)) = (u32_of(body, "database"), body.get("id")) else {
            continue;
        };
        let id = id.as_str().unwrap_or_default();
        if *key == keys::meta_named(MetaKind::View, u64::from(number), id) {
            let before = catalog.view(number, id).map(|view| &view.definition);
            let after = body.get("definition").and_then(Value::as_object);
            tell(number, id, before, after);
        }
    }
    for key in change.deletes.iter().filter(|key| key.starts_with(&kind)) {
        if let Some(view) = catalog.view_of_key(key) {
            tell(view.database, &view.id, Some(&view.definition), None);
        }
    }
    told
}

/// The name of a database that is there, or is made by the same change.
fn database_name(catalog: &Catalog, change: &MetaChange, number: u32) -> Option<String> {
    if let Some(database) = catalog.database_numbered(number) {
        return Some(database.id.to_string());
    }
    let key = keys::meta_numbered(MetaKind::Database, number);
    let (_, body) = change.puts.iter().find(|(other, _)| *other == key)?;
    Some(body.get("id")?.as_str()?.to_owned())
}

/// Puts the events of a change into its batch; says how many they are.
pub(crate) fn put(events: &[Object], batch: &mut Batch) -> u16 {
    let mut count = 0;
    for event in events {
        batch.put(
            Space::Versions,
            key_next(CATALOG_LOG, count),
            meta_value(event),
        );
        count += 1;
    }
    count
}

/// The number and the database's name of a collection that is written and followed.
fn followed(
    catalog: &Catalog,
    change: &MetaChange,
    key: &[u8],
    body: &Object,
) -> Option<(CollectionId, String)> {
    let cid = CollectionId(u32_of(body, "number")?);
    if key != keys::meta_numbered(MetaKind::Collection, cid.0) || !body.contains_key("mongo") {
        return None;
    }
    let database = database_name(catalog, change, u32_of(body, "database")?)?;
    let name = body.get("id")?.as_str()?;
    let kept = body.get("history")?.get("kept").as_bool() == Some(true);
    let follows = kept
        || catalog
            .watched_since(Watched::Collection(&database, name))
            .is_some();
    follows.then_some((cid, database))
}

/// Whether two records say the same to whoever follows a collection.
fn alike(before: &Object, after: &Object) -> bool {
    ["id", "mongo", "indexes", "ttl"]
        .iter()
        .all(|name| match (before.get(name), after.get(name)) {
            (None, None) => true,
            (Some(before), Some(after)) => lapsedb_value::order::identical_bson(before, after),
            (Some(_), None) | (None, Some(_)) => false,
        })
}

fn event(
    database: &str,
    before: Option<Object>,
    after: Option<Object>,
    replaced: Option<Object>,
) -> Object {
    let mut event = Object::new();
    event.push("database", database);
    for (name, body) in [("before", before), ("after", after), ("replaced", replaced)] {
        if let Some(body) = body {
            event.push(name, Value::Object(body));
        }
    }
    event
}

fn u32_of(body: &Object, name: &str) -> Option<u32> {
    u32::try_from(body.get(name)?.as_i64()?).ok()
}

/// The events from a key on.
fn events_behind(from: Vec<u8>) -> Scan {
    Scan {
        space: Space::Versions,
        from,
        to: lapsedb_kv::prefix_end(&keys::collection_prefix(CATALOG_LOG)),
        reverse: false,
        rows_max: STEP_ROWS_MAX,
        bytes_max: STEP_BYTES_MAX,
    }
}

/// Where the event with this key stands.
fn place_of(key: &[u8]) -> Result<Place> {
    let place = key.get(4..).and_then(|rest| rest.split_first_chunk::<8>());
    let (lsn, index) = place.ok_or_else(unreadable)?;
    let index = index.first_chunk::<2>().ok_or_else(unreadable)?;
    Ok(Place {
        lsn: u64::from_be_bytes(*lsn),
        index: u16::from_be_bytes(*index),
    })
}

fn unreadable() -> StoreError {
    StoreError::Corrupt("an event of the catalog cannot be read".into())
}

impl Store {
    /// The changes of collections behind a place that a view has. With `inclusive`, also the one at the place.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn catalog_events(
        &self,
        view: &View,
        after: Place,
        inclusive: bool,
    ) -> Result<Vec<CatalogEvent>> {
        let mut from = key_after(CATALOG_LOG, after);
        if inclusive && after.index < u16::MAX {
            from = keys::collection_prefix(CATALOG_LOG);
            from.extend_from_slice(&after.lsn.to_be_bytes());
            from.extend_from_slice(&after.index.to_be_bytes());
        }
        let mut scan = events_behind(from);
        let mut events = Vec::new();
        loop {
            let step = view.snapshot.scan(scan.clone()).await?;
            for (key, value) in &step.rows {
                events.push(self.catalog_event(key, value)?);
            }
            match step.rows.last() {
                Some((key, _)) if step.more => scan.resume_after(key),
                Some(_) | None => return Ok(events),
            }
        }
    }

    fn catalog_event(&self, key: &[u8], value: &[u8]) -> Result<CatalogEvent> {
        let record = MetaRecord::read(value)?;
        let object = |name: &str| record.body.get(name).and_then(Value::as_object);
        let collection = |name: &str| -> Result<Option<Box<Collection>>> {
            let Some(body) = object(name) else {
                return Ok(None);
            };
            let record = MetaRecord {
                body: body.clone(),
                ..record
            };
            Ok(Some(Box::new(collection_of(&record, self.filters())?)))
        };
        let Some(Value::String(database)) = record.body.get("database") else {
            return Err(unreadable());
        };
        let view = match record.body.get("view") {
            Some(Value::String(id)) => Some(ViewEvent {
                id: id.clone(),
                before: object("before").cloned(),
                after: object("after").cloned(),
            }),
            Some(_) | None => None,
        };
        let (before, after) = match view {
            Some(_) => (None, None),
            None => (collection("before")?, collection("after")?),
        };
        Ok(CatalogEvent {
            place: place_of(key)?,
            committed: record.written,
            at: record.at,
            database: database.clone(),
            before,
            after,
            replaced: object("replaced").cloned(),
            asked: object("asked").cloned(),
            view,
        })
    }

    /// Removes events whose time is over. Says when it is worth another look.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when something else came in between; otherwise when the engine fails.
    pub async fn trim_catalog_log(&self) -> Result<Millis> {
        let view = self.view().await?;
        let longest = view.catalog().longest_watch();
        let retention = longest.unwrap_or(Secs(VERSIONS_RETENTION_SECS));
        let oldest = Secs(view.now().secs().0.saturating_sub(retention.0));
        let state = view.versions_state(CATALOG_LOG).await?;
        let mut floor = state.floor;
        let mut next = view.now().secs();
        let mut scan = events_behind(key_after(CATALOG_LOG, Place::end_of(state.floor)));
        'log: loop {
            let step = view.snapshot.scan(scan.clone()).await?;
            for (key, value) in &step.rows {
                let (_, committed) = MetaRecord::stamp(value)?;
                if committed >= oldest {
                    next = committed;
                    break 'log;
                }
                floor = place_of(key)?.lsn;
            }
            match step.rows.last() {
                Some((key, _)) if step.more => scan.resume_after(key),
                Some(_) | None => break,
            }
        }
        if floor > state.floor {
            let mut batch = Batch::new();
            state.check(CATALOG_LOG, &mut batch);
            let body = State::body(&state.told, state.read, Some(floor));
            let key = Template::from(state::key(CATALOG_LOG));
            batch.put(Space::Meta, key, meta_value(&body));
            batch.delete_range(
                Space::Versions,
                keys::collection_prefix(CATALOG_LOG),
                key_after(CATALOG_LOG, Place::end_of(floor)),
            );
            self.engine().commit(batch).await?;
        }
        Ok(next.plus(retention).plus(Secs(1)).millis())
    }
}

impl View {
    /// Whether changes of collections behind a place are kept no longer.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn catalog_log_forgotten(&self, after: Place) -> Result<bool> {
        Ok(after.lsn < self.versions_state(CATALOG_LOG).await?.floor)
    }
}
