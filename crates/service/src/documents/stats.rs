//! How large a collection is: living documents only.

use lapsedb_store::index::named::NamedIndex;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::ID_INDEX;
use crate::documents::kept::cap_of;
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;
use crate::operations::ON_ID;

/// The figures of a collection, sizes divided by a scale; zeros, if it is not there.
///
/// # Errors
/// When the scale is wrong, or the engine fails.
pub async fn collection_stats(
    work: &mut Work,
    namespace: &Namespace,
    scale: i64,
) -> Result<Object> {
    let look = Look::fresh(work, namespace).await?;
    figures(&look, scale).await
}

async fn figures(look: &Look<'_>, scale: i64) -> Result<Object> {
    if scale < 1 {
        return Err(Fault::new(
            code::BAD_VALUE,
            "Scale factor must be greater than zero",
        ));
    }
    let (items, bytes, names) = match &look.collection {
        Some(collection) => {
            let live = look.view.live(collection).await?;
            let names = crate::documents::indexes::names(collection);
            (live.items, live.bytes, names)
        }
        None => (0, 0, Vec::new()),
    };
    let number = |n: u64| Value::from(i64::try_from(n).unwrap_or(i64::MAX));
    let scaled = |n: u64| number(n / scale.unsigned_abs());
    let mut sizes = Object::with_capacity(names.len());
    for name in &names {
        sizes.push(name.as_str(), Value::Int32(0));
    }
    let mut stats = Object::with_capacity(12);
    stats.push("size", scaled(bytes));
    stats.push("count", number(items));
    if let Some(average) = bytes.checked_div(items) {
        stats.push("avgObjSize", number(average));
    }
    stats.push("storageSize", scaled(bytes));
    stats.push("freeStorageSize", number(0));
    let cap = look
        .collection
        .as_ref()
        .and_then(|collection| cap_of(collection));
    stats.push("capped", cap.is_some());
    if let Some(cap) = cap {
        let items = cap.items_max.min(i32::MAX.unsigned_abs().into());
        stats.push("max", number(items));
        stats.push("maxSize", scaled(cap.bytes_max));
    }
    stats.push("nindexes", i32::try_from(names.len()).unwrap_or(i32::MAX));
    stats.push("indexBuilds", Value::Array(Vec::new()));
    stats.push("totalIndexSize", number(0));
    stats.push("totalSize", scaled(bytes));
    stats.push("indexSizes", Value::Object(sizes));
    stats.push("scaleFactor", Value::from(scale));
    Ok(stats)
}

/// The document of `$collStats`.
pub(crate) async fn stage_stats(
    look: &Look<'_>,
    namespace: &Namespace,
    options: &Object,
) -> Result<Object> {
    if look.collection.is_none() {
        return Err(Fault::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns not found: {namespace}"),
        ));
    }
    let mut document = Object::with_capacity(5);
    document.push("ns", namespace.to_string());
    document.push("host", "lapsedb");
    let now = i64::try_from(look.view.now().0).unwrap_or(i64::MAX);
    document.push("localTime", Value::Date(now));
    if let Some(storage) = options.get("storageStats") {
        let scale = storage.get("scale").as_i64().unwrap_or(1);
        document.push("storageStats", Value::Object(figures(look, scale).await?));
    }
    if options.contains_key("count") {
        let stats = figures(look, 1).await?;
        document.push("count", stats.get("count").cloned().unwrap_or_default());
    }
    if options.contains_key("latencyStats") {
        document.push("latencyStats", Value::Object(Object::new()));
    }
    Ok(document)
}

/// The documents of `$indexStats`.
pub(crate) fn index_stats(look: &Look<'_>, namespace: &Namespace) -> Result<Vec<Object>> {
    let Some(collection) = &look.collection else {
        return Err(Fault::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns not found: {namespace}"),
        ));
    };
    let uses = &look
        .work
        .ctx
        .service()
        .documents_state()
        .operations
        .index_uses;
    let mut all = Vec::new();
    for shown in crate::documents::indexes::shown(collection) {
        let mut one = Object::with_capacity(5);
        for name in ["name", "key"] {
            one.push(name, shown.get(name).cloned().unwrap_or_default());
        }
        one.push("host", "lapsedb");
        let name = shown.get("name").and_then(Value::as_str);
        let named = |index: &&NamedIndex| Some(index.name.as_str()) == name;
        let number = match name {
            Some(ID_INDEX) => Some(ON_ID),
            // The collection's default time to live is no index to find documents by.
            _ => collection
                .indexes
                .all()
                .iter()
                .find(named)
                .map(|index| index.number),
        };
        let used = number.map_or(0, |number| uses.of(collection.cid, number));
        let mut accesses = Object::with_capacity(2);
        accesses.push("ops", Value::Int64(i64::try_from(used).unwrap_or(i64::MAX)));
        if let Some(since) = uses.since() {
            let since = i64::try_from(since.0).unwrap_or(i64::MAX);
            accesses.push("since", Value::Date(since));
        }
        one.push("accesses", Value::Object(accesses));
        one.push("spec", Value::Object(shown));
        all.push(one);
    }
    Ok(all)
}
