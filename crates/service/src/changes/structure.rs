//! What happened to a collection or a database, as clients see it.

use lapsedb_store::{CatalogEvent, Collection, ViewEvent};
use lapsedb_value::order::identical_bson;
use lapsedb_value::{Object, Value};

use crate::changes::Scope;
use crate::changes::document::{name, stamp_of};
use crate::changes::options::Options;
use crate::changes::token;
use crate::documents::Namespace;
use crate::documents::id::ID;
use crate::documents::indexes::{self, ID_INDEX};

/// What a client learns, and whether its stream ends with it.
pub(crate) struct Structure {
    pub(crate) told: Option<Object>,
    pub(crate) ends: bool,
}

/// What became of a collection.
enum Happened<'a> {
    Created(&'a Collection),
    Dropped(&'a Collection),
    Renamed(&'a Collection, &'a Collection),
    Changed(&'a Collection, &'a Collection),
    View(&'a ViewEvent),
    DatabaseDropped,
}

fn happened(event: &CatalogEvent) -> Happened<'_> {
    if let Some(view) = &event.view {
        return Happened::View(view);
    }
    match (event.before.as_deref(), event.after.as_deref()) {
        (None, None) => Happened::DatabaseDropped,
        (None, Some(after)) => Happened::Created(after),
        (Some(before), None) => Happened::Dropped(before),
        (Some(before), Some(after)) if before.id != after.id => Happened::Renamed(before, after),
        (Some(before), Some(after)) => Happened::Changed(before, after),
    }
}

/// The event as clients of a stream see it, if they do.
pub(crate) fn structure(
    event: &CatalogEvent,
    (scope, namespace): (Scope, &Namespace),
    options: &Options,
) -> Structure {
    let covers = |collection: &Collection| scope.covers(namespace, &event.database, &collection.id);
    let of_collection = scope == Scope::Collection;
    let mut ends = false;
    let told = match happened(event) {
        Happened::DatabaseDropped => {
            let own = namespace.database == event.database;
            ends = scope == Scope::Database && own;
            let told = ends || scope == Scope::Everything;
            told.then(|| database_dropped(event))
        }
        Happened::Dropped(before) if covers(before) => {
            ends = of_collection;
            Some(begin(event, "drop", before, options))
        }
        Happened::View(view) => {
            let covered = scope.covers(namespace, &event.database, &view.id);
            (options.expanded && covered).then(|| of_view(event, view))
        }
        Happened::Renamed(before, after) if covers(before) || covers(after) => {
            ends = of_collection;
            Some(renamed(event, before, after, options))
        }
        Happened::Created(after) if options.expanded && covers(after) => {
            let mut told = begin(event, "create", after, options);
            told.push("operationDescription", Value::Object(created(after)));
            Some(told)
        }
        Happened::Changed(before, after) if options.expanded && covers(after) => {
            changed(event, before, after, options)
        }
        Happened::Dropped(_)
        | Happened::Renamed(..)
        | Happened::Created(_)
        | Happened::Changed(..) => None,
    };
    Structure { told, ends }
}

/// The last event of a stream.
pub(crate) fn invalidate(event: &CatalogEvent) -> Object {
    let mut told = Object::with_capacity(4);
    told.push(ID, Value::Object(token::write(event.place, true)));
    told.push("operationType", "invalidate");
    time(event, None, &mut told);
    told
}

fn time(event: &CatalogEvent, uuid: Option<Value>, told: &mut Object) {
    let stamp = stamp_of(event.committed.0, event.place.lsn);
    told.push("clusterTime", Value::Timestamp(stamp));
    if let Some(uuid) = uuid {
        told.push("collectionUUID", uuid);
    }
    let at = i64::try_from(event.at.0).unwrap_or(i64::MAX);
    told.push("wallTime", Value::Date(at));
}

fn head(event: &CatalogEvent, kind: &str, told: &mut Object) {
    told.push(ID, Value::Object(token::write(event.place, false)));
    told.push("operationType", kind);
}

fn begin(event: &CatalogEvent, kind: &str, collection: &Collection, options: &Options) -> Object {
    let mut told = Object::with_capacity(7);
    head(event, kind, &mut told);
    time(event, uuid(collection, options), &mut told);
    told.push("ns", Value::Object(named(event, collection)));
    told
}

/// What became of a view.
fn of_view(event: &CatalogEvent, view: &ViewEvent) -> Object {
    let (kind, description) = match (&view.before, &view.after) {
        (None, Some(after)) => ("create", Some(after.clone())),
        (Some(_), Some(after)) => {
            let mut shown = after.clone();
            // It is that of the view for good, and no change can name it.
            shown.remove("collation");
            ("modify", Some(shown))
        }
        (Some(_) | None, None) => ("drop", None),
    };
    let mut told = Object::with_capacity(6);
    head(event, kind, &mut told);
    time(event, None, &mut told);
    let ns = name(&Namespace::pseudo(&event.database, &view.id));
    told.push("ns", Value::Object(ns));
    if let Some(description) = description {
        told.push("operationDescription", Value::Object(description));
    }
    told
}

fn database_dropped(event: &CatalogEvent) -> Object {
    let mut told = Object::with_capacity(5);
    head(event, "dropDatabase", &mut told);
    time(event, None, &mut told);
    let mut ns = Object::with_capacity(1);
    ns.push("db", event.database.as_str());
    told.push("ns", Value::Object(ns));
    told
}

fn renamed(
    event: &CatalogEvent,
    before: &Collection,
    after: &Collection,
    options: &Options,
) -> Object {
    let to = named(event, after);
    let mut told = Object::with_capacity(8);
    told.push("to", Value::Object(to.clone()));
    for (name, value) in begin(event, "rename", before, options) {
        told.push(name, value);
    }
    if options.expanded {
        let mut description = Object::with_capacity(2);
        description.push("to", Value::Object(to));
        if let Some(uuid) = event.replaced.as_ref().and_then(|mongo| mongo.get("uuid")) {
            description.push("dropTarget", uuid.clone());
        }
        told.push("operationDescription", Value::Object(description));
    }
    told
}

fn named(event: &CatalogEvent, collection: &Collection) -> Object {
    name(&Namespace::pseudo(&event.database, &collection.id))
}

fn kept_options(collection: &Collection) -> Object {
    let mongo = collection.mongo.as_deref();
    let options = mongo.and_then(|mongo| mongo.get("options"));
    options
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

fn uuid(collection: &Collection, options: &Options) -> Option<Value> {
    let mongo = collection.mongo.as_deref()?;
    options.expanded.then(|| mongo.get("uuid").cloned())?
}

fn created(collection: &Collection) -> Object {
    let mut description = kept_options(collection);
    if let Some(own) = indexes::shown(collection).into_iter().next() {
        description.push("idIndex", Value::Object(own));
    }
    description
}

/// The indexes that are whole, as clients see them, but for that on `_id`.
fn whole(collection: &Collection) -> Vec<Object> {
    let unfinished: Vec<&str> = collection
        .indexes
        .all()
        .iter()
        .filter(|index| !index.whole)
        .map(|index| index.name.as_str())
        .collect();
    let name = |index: &Object| {
        let name = index.get("name").and_then(Value::as_str);
        name.unwrap_or_default().to_owned()
    };
    let mut all = indexes::shown(collection);
    all.retain(|index| {
        let name = name(index);
        name != ID_INDEX && !unfinished.contains(&name.as_str())
    });
    all
}

fn changed(
    event: &CatalogEvent,
    before: &Collection,
    after: &Collection,
    options: &Options,
) -> Option<Object> {
    let (old, new) = (whole(before), whole(after));
    let absent = |index: &Object, from: &[Object]| {
        let name = index.get("name").and_then(Value::as_str);
        !from
            .iter()
            .any(|other| other.get("name").and_then(Value::as_str) == name)
    };
    let list = |all: Vec<&Object>| {
        let all = all.into_iter().cloned().map(Value::Object).collect();
        let mut description = Object::with_capacity(1);
        description.push("indexes", Value::Array(all));
        description
    };
    let made: Vec<_> = new.iter().filter(|index| absent(index, &old)).collect();
    let gone: Vec<_> = old.iter().filter(|index| absent(index, &new)).collect();
    for (kind, indexes) in [("createIndexes", made), ("dropIndexes", gone)] {
        if !indexes.is_empty() {
            let mut told = begin(event, kind, after, options);
            told.push("operationDescription", Value::Object(list(indexes)));
            return Some(told);
        }
    }
    let change = modified((&kept_options(before), &old), (&kept_options(after), &new));
    let (description, index_before) = match (change, &event.asked) {
        (Some(change), _) => change,
        // What was asked for was so already.
        (None, Some(asked)) => (asked.clone(), None),
        (None, None) => return None,
    };
    let mut told = begin(event, "modify", after, options);
    told.push("operationDescription", Value::Object(description));
    let mut state = Object::with_capacity(2);
    let mut former = Object::with_capacity(4);
    if let Some(uuid) = before.mongo.as_deref().and_then(|mongo| mongo.get("uuid")) {
        former.push("uuid", uuid.clone());
    }
    for (name, value) in kept_options(before) {
        former.push(name, value);
    }
    state.push("collectionOptions", Value::Object(former));
    if let Some(index) = index_before {
        state.push("indexOptions", Value::Object(index));
    }
    told.push("stateBeforeChange", Value::Object(state));
    Some(told)
}

/// What of options or of an index was changed, and what an index had before.
fn modified(
    (old_options, old): (&Object, &[Object]),
    (new_options, new): (&Object, &[Object]),
) -> Option<(Object, Option<Object>)> {
    for (before, after) in old.iter().zip(new) {
        let Some(change) = changed_members(before, after) else {
            continue;
        };
        let mut index = Object::with_capacity(3);
        index.push("name", after.get("name").cloned().unwrap_or_default());
        let mut former = Object::with_capacity(2);
        for (name, value) in change {
            let absent = Value::Bool(false);
            let old = before.get(&name);
            match old {
                Some(old) => former.push(name.clone(), old.clone()),
                None if name == "hidden" => former.push(name.clone(), absent.clone()),
                None => {}
            }
            let shown = if value.is_undefined() { absent } else { value };
            index.push(name, shown);
        }
        let mut description = Object::with_capacity(1);
        description.push("index", Value::Object(index));
        return Some((description, Some(former)));
    }
    let change = changed_members(old_options, new_options)?;
    let mut description = Object::with_capacity(2);
    for (name, value) in change {
        if !value.is_undefined() {
            description.push(name, value);
        } else if name == "changeStreamPreAndPostImages" {
            let mut off = Object::with_capacity(1);
            off.push("enabled", false);
            description.push(name, Value::Object(off));
        }
    }
    Some((description, None))
}

/// Members that are another, with what they are now; none, if all are the same.
fn changed_members(before: &Object, after: &Object) -> Option<Vec<(String, Value)>> {
    let mut changed = Vec::new();
    for (name, value) in after {
        let same = before
            .get(name)
            .is_some_and(|old| identical_bson(old, value));
        if !same {
            changed.push((name.to_string(), value.clone()));
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(name)) {
        changed.push((name.to_string(), Value::Undefined));
    }
    (!changed.is_empty()).then_some(changed)
}
