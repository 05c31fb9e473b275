//! What a collection was made with, as it is kept in the catalog.

use lapsedb_store::{Cap, Collection};
use lapsedb_value::{Object, Value};

/// A collection's options.
pub(crate) fn options_of(collection: &Collection) -> Option<&Object> {
    collection.mongo.as_deref()?.get("options")?.as_object()
}

/// How much a capped collection may hold; nothing, if it is none.
pub(crate) fn cap_of(collection: &Collection) -> Option<Cap> {
    let options = options_of(collection)?;
    let number = |name: &str| {
        let number = options.get(name).and_then(Value::as_i64)?;
        u64::try_from(number).ok()
    };
    let capped = options.get("capped").and_then(Value::as_bool) == Some(true);
    capped.then(|| Cap {
        items_max: number("max").unwrap_or(u64::MAX),
        bytes_max: number("size").unwrap_or(u64::MAX),
    })
}

/// Whether it is a time series, which may hold several documents with one `_id`.
pub(crate) fn is_time_series(collection: &Collection) -> bool {
    options_of(collection).is_some_and(|options| options.contains_key("timeseries"))
}

/// What kind of collection it is, in one word.
pub(crate) fn kind_of(collection: &Collection) -> &'static str {
    match is_time_series(collection) {
        true => "timeseries",
        false => "collection",
    }
}
