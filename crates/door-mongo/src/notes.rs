//! What replies say beside their answer.

use lapsedb_service::documents::Namespace;

/// Makes a note about indexes, given by their names.
pub(crate) type Note = fn(&Namespace, &str) -> String;

/// A TTL index was made over documents of which none has a date in its field. It is logged too.
pub(crate) fn dateless(namespace: &Namespace, indexes: &str) -> String {
    tracing::warn!(%namespace, indexes, "a TTL index is on a field that holds no dates: nothing expires by it");
    format!("no document has a date in the field of the TTL index {indexes}: nothing expires by it")
}

/// A TTL index was made whose kind holds no dates. It is logged too.
pub(crate) fn not_by_value(namespace: &Namespace, indexes: &str) -> String {
    tracing::warn!(%namespace, indexes, "a TTL index is neither ascending nor descending: nothing expires by it");
    format!("the TTL index {indexes} is neither ascending nor descending: nothing expires by it")
}
