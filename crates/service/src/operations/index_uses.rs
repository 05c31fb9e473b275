//! How often each index was used since the start.

use std::collections::HashMap;

use lapsedb_record::Millis;
use lapsedb_store::CollectionId;
use parking_lot::Mutex;

/// Indexes that are counted; what comes beyond is not.
const INDEXES_MAX: usize = 100_000;
/// The number under which the index on `_id` is counted; no other has it.
pub(crate) const ON_ID: u32 = u32::MAX;

/// How often, by collection and number of the index; numbers are never used twice.
#[derive(Default)]
pub(crate) struct IndexUses {
    all: Mutex<HashMap<(CollectionId, u32), u64>>,
    since: Mutex<Option<Millis>>,
}

impl IndexUses {
    /// Counting begins.
    pub(crate) fn begin(&self, now: Millis) {
        self.since.lock().get_or_insert(now);
    }

    /// Since when is counted.
    pub(crate) fn since(&self) -> Option<Millis> {
        *self.since.lock()
    }

    /// An index was chosen.
    pub(crate) fn used(&self, collection: CollectionId, index: u32) {
        let mut all = self.all.lock();
        if let Some(count) = all.get_mut(&(collection, index)) {
            *count += 1;
        } else if all.len() < INDEXES_MAX {
            all.insert((collection, index), 1);
        }
    }

    /// How often an index was chosen.
    pub(crate) fn of(&self, collection: CollectionId, index: u32) -> u64 {
        let all = self.all.lock();
        all.get(&(collection, index)).copied().unwrap_or(0)
    }
}
