//! Indexes of the Mongo door: made, listed, changed, dropped. The TTL index on `_ts` is the collection's default TTL.

mod change;
mod create;
mod definition;
mod drop;
mod in_transaction;
mod list;
mod places;
mod text;
mod ttl_name;

use lapsedb_record::Setting;
use lapsedb_store::Collection;
use lapsedb_store::index::named::{IndexPart, NamedIndex, PartKind};
use lapsedb_value::{Object, Value};

use crate::collections;
use crate::ctx::Ctx;
use crate::documents::fault::Result;
use crate::documents::id::ID;
use crate::documents::kept::options_of;
use crate::documents::namespace::Namespace;
use crate::documents::search::ENTRIES;
use crate::error::Kind;
use crate::reply::Conditions;
use crate::resource::etag;

pub use change::{ChangedIndex, IndexChange, change_index};
pub use create::{CreatedIndexes, create_indexes};
pub use drop::{WhichIndexes, drop_indexes};
pub use list::list_indexes;
pub(crate) use ttl_name::{name_ttl_index, ttl_name};

/// The index that every collection has.
pub(crate) const ID_INDEX: &str = "_id_";
/// The field whose TTL index is the collection's default TTL.
pub(crate) const TS: &str = "_ts";
/// The name of that index, if the client gave none that is kept.
pub(crate) const TS_INDEX: &str = "_ts_1";

/// The names of a collection's indexes.
pub(crate) fn names(collection: &Collection) -> Vec<String> {
    shown(collection).iter().filter_map(name_of).collect()
}

/// The name of an index as clients see it.
fn name_of(index: &Object) -> Option<String> {
    index.get("name").and_then(Value::as_str).map(str::to_owned)
}

/// A collection's indexes as clients see them, that on `_id` first.
pub(crate) fn shown(collection: &Collection) -> Vec<Object> {
    let mut all = vec![on_id(collection)];
    if let Some(seconds) = default_ttl(collection) {
        let mut index = base(&pattern(TS), &ttl_name(collection));
        index.push("expireAfterSeconds", Value::from(seconds));
        all.push(index);
    }
    // The other door may have set a default where an ordinary index has this name: then the default is meant by it.
    let default = default_ttl(collection).map(|_| ttl_name(collection));
    let meant = |index: &&NamedIndex| {
        index.name != ID_INDEX && default.as_deref() != Some(index.name.as_str())
    };
    all.extend(collection.indexes.all().iter().filter(meant).map(show));
    all
}

/// The indexes that clients are told of. Of a time series, those that were made on it: not that on `_id`, nor that by which its
/// documents expire.
pub(crate) fn listed(collection: &Collection) -> Vec<Object> {
    let mut all = shown(collection);
    if let Some(time) = time_field(collection) {
        all.retain(|index| !is_of_series(collection, &time, index));
    }
    all
}

/// The field of a time series that has its dates; nothing, if the collection is none.
fn time_field(collection: &Collection) -> Option<String> {
    let series = options_of(collection)?.get("timeseries")?;
    series.get("timeField").as_str().map(str::to_owned)
}

/// Whether a time series has an index because it is one.
fn is_of_series(collection: &Collection, time: &str, index: &Object) -> bool {
    let name = index.get("name").and_then(Value::as_str);
    let expires = options_of(collection).is_some_and(|it| it.contains_key("expireAfterSeconds"));
    let ends = index.contains_key("expireAfterSeconds");
    name == Some(ID_INDEX) || (expires && ends && name == Some(&format!("{time}_1")))
}

/// The index on `_id`, which a clustered collection shows as what it is.
fn on_id(collection: &Collection) -> Object {
    let clustered = options_of(collection)
        .and_then(|options| options.get("clusteredIndex")?.as_object().cloned());
    match clustered {
        Some(mut index) => {
            index.push("clustered", true);
            index
        }
        None => {
            let mut index = base(&pattern(ID), ID_INDEX);
            let collation = options_of(collection).and_then(|options| options.get("collation"));
            if let Some(collation) = collation {
                index.push("collation", collation.clone());
            }
            index
        }
    }
}

fn pattern(field: &str) -> Object {
    let mut pattern = Object::with_capacity(1);
    pattern.push(field, 1);
    pattern
}

fn base(pattern: &Object, name: &str) -> Object {
    let mut index = Object::with_capacity(6);
    index.push("v", 2);
    index.push("key", Value::Object(pattern.clone()));
    index.push("name", name);
    index
}

fn show(index: &NamedIndex) -> Object {
    let given = index.options.get("key").and_then(Value::as_object).cloned();
    let mut shown = base(&given.unwrap_or_else(|| index.pattern()), &index.name);
    for (name, truth) in [
        ("unique", index.unique),
        ("sparse", index.sparse),
        ("hidden", index.hidden),
    ] {
        if truth {
            shown.push(name, true);
        }
    }
    if let Some(life) = index.expire_after {
        let seconds = i64::try_from(life.0).unwrap_or(i64::MAX);
        shown.push("expireAfterSeconds", Value::from(seconds));
    }
    if let Some(filter) = &index.filter {
        let expression = filter.expression.clone();
        shown.push("partialFilterExpression", Value::Object(expression));
    }
    for (name, value) in index.options.iter() {
        if name != "key" && name != ENTRIES {
            shown.push(name.clone(), value.clone());
        }
    }
    shown
}

/// Whether an index is an ordinary one on `_ts` alone, in the direction that the default has.
pub(crate) fn is_on_ts(index: &NamedIndex) -> bool {
    let ascending = |part: &IndexPart| match part.kind {
        PartKind::Ascending => part.path == TS,
        PartKind::Descending | PartKind::Hashed | PartKind::Other(_) => false,
    };
    matches!(index.parts.as_slice(), [part] if ascending(part))
}

/// The default TTL in seconds, if TTL is on.
pub(crate) fn default_ttl(collection: &Collection) -> Option<i64> {
    match collection.policy.setting {
        Setting::Off => None,
        Setting::On => Some(-1),
        Setting::OnWithDefault(life) => Some(i64::try_from(life.0).unwrap_or(i64::MAX)),
    }
}

/// Sets the default TTL of a collection as it was seen, or switches TTL off: what had expired before stays so. False, if its
/// definition has changed since: then nothing is done, and the caller looks again.
pub(crate) async fn set_default_ttl(
    ctx: &Ctx,
    namespace: &Namespace,
    seen: &Collection,
    seconds: Option<i64>,
) -> Result<bool> {
    let mut document = seen.document.clone();
    document.remove("defaultTtl");
    match seconds {
        Some(seconds) => document.push("defaultTtl", Value::from(seconds)),
        // Without a time to live nothing is counted from a path either.
        None => {
            document.remove("ttlPropertyPath");
        }
    }
    let address = (namespace.database.as_str(), namespace.collection.as_str());
    let as_seen = Conditions {
        if_match: Some(etag(seen.lsn).into()),
        if_none_match: None,
    };
    let body = Value::Object(document);
    match collections::replace(ctx, address, &body, &as_seen).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind == Kind::PreconditionFailed => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ctx::{find_collection, find_database};
    use crate::{Config, Service, Who, databases};

    #[test]
    fn a_definition_that_was_changed_meanwhile_is_not_written_back() {
        lapsedb_testkit::run(async {
            let service = Service::open(Config::in_memory(vec![1])).await.unwrap();
            let ctx = Ctx::new(Arc::clone(&service), Who::Master);
            let mut database = Object::new();
            database.push("id", "db");
            databases::create(&ctx, &database, None).await.unwrap();
            let definition = |automatic: bool| {
                let text = format!(
                    "{{\"id\":\"c\",\"partitionKey\":{{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}},\
                     \"indexingPolicy\":{{\"automatic\":{automatic},\"indexingMode\":\"consistent\"}}}}"
                );
                lapsedb_value::json::parse(text.as_bytes(), &lapsedb_value::json::Limits::DEFAULT)
                    .unwrap()
            };
            collections::create(&ctx, "db", &definition(true), None)
                .await
                .unwrap();
            let current = || async {
                let view = ctx.view().await.unwrap();
                let database = find_database(&view, "db").unwrap();
                find_collection(&view, &database, "c").unwrap()
            };
            let seen = current().await;
            let other = definition(false);
            let always = Conditions::default();
            collections::replace(&ctx, ("db", "c"), &other, &always)
                .await
                .unwrap();
            let namespace = Namespace {
                database: "db".to_owned(),
                collection: "c".to_owned(),
            };

            assert!(
                !set_default_ttl(&ctx, &namespace, &seen, Some(7))
                    .await
                    .unwrap()
            );
            let now = current().await;
            assert_eq!(default_ttl(&now), None);
            let policy = now.document.get("indexingPolicy").unwrap();
            assert!(matches!(policy.get("automatic"), Value::Bool(false)));

            assert!(
                set_default_ttl(&ctx, &namespace, &now, Some(7))
                    .await
                    .unwrap()
            );
            let now = current().await;
            assert_eq!(default_ttl(&now), Some(7));
            let policy = now.document.get("indexingPolicy").unwrap();
            assert!(matches!(policy.get("automatic"), Value::Bool(false)));
        });
    }
}
