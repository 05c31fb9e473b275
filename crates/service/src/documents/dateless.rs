//! Tells the log when a TTL index finds no date where it looks for one: such documents never end by it, which is seldom meant.

use std::collections::HashSet;

use lapsedb_store::Collection;
use lapsedb_value::Object;

use crate::documents::namespace::Namespace;

/// How many indexes are remembered as told; beyond that nothing more is said.
const TOLD_INDEXES_MAX: usize = 10_000;

/// The indexes of which it was told: each once, so that no load can flood the log.
#[derive(Debug, Default)]
pub(crate) struct Dateless(parking_lot::Mutex<HashSet<(u32, u32)>>);

impl Dateless {
    /// Looks at a document that was written.
    pub(crate) fn look(&self, collection: &Collection, namespace: &Namespace, document: &Object) {
        for index in collection.indexes.all() {
            if index.expire_after.is_none() || !index.holds_dates() {
                continue;
            }
            let mut told = self.0.lock();
            let place = (collection.cid.0, index.number);
            if told.len() >= TOLD_INDEXES_MAX
                || told.contains(&place)
                || !index.holds_no_date(document)
            {
                continue;
            }
            told.insert(place);
            tracing::warn!(
                %namespace,
                index = %index.name,
                "a document was written whose value in the field of a TTL index is no date: it never ends by it; said once per index"
            );
        }
    }
}
