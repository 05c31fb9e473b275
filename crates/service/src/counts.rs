//! What queries have read since the start.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::charge::QueryWork;

/// Sums over all queries.
#[derive(Debug, Default)]
pub struct Counts {
    query_items: AtomicU64,
    query_index_entries: AtomicU64,
}

impl Counts {
    pub(crate) fn add_query(&self, work: QueryWork) {
        self.query_items
            .fetch_add(work.items_read, Ordering::Relaxed);
        self.query_index_entries
            .fetch_add(work.index_entries_read, Ordering::Relaxed);
    }

    /// Items that queries have loaded.
    pub fn query_items(&self) -> u64 {
        self.query_items.load(Ordering::Relaxed)
    }

    /// Index entries that queries have looked at.
    pub fn query_index_entries(&self) -> u64 {
        self.query_index_entries.load(Ordering::Relaxed)
    }
}
