//! What a compaction leaves out: it asks the judge of every entry it rewrites.

use std::ffi::CStr;
use std::sync::Arc;

use rocksdb::CompactionDecision;
use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};

use crate::engine::Space;
use crate::judge::{Judge, Verdict};

const NAME: &CStr = c"lapsedb.judge";

/// Makes a filter for each compaction of a space.
pub(super) struct Filters {
    space: Space,
    judge: Arc<dyn Judge>,
}

impl Filters {
    pub fn new(space: Space, judge: Arc<dyn Judge>) -> Filters {
        Filters { space, judge }
    }
}

// RocksDB may ask from several threads at once: nothing here changes.
impl CompactionFilterFactory for Filters {
    type Filter = Filter;

    fn create(&mut self, _context: CompactionFilterContext) -> Filter {
        Filter(self.judge.session(self.space))
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

/// The filter of one compaction, on one thread.
pub(super) struct Filter(Option<Verdict>);

impl CompactionFilter for Filter {
    fn filter(&mut self, _level: u32, key: &[u8], value: &[u8]) -> CompactionDecision {
        let verdict = self.0.as_mut();
        if verdict.is_some_and(|is_condemned| is_condemned(key, value)) {
            // RocksDB keeps a tombstone where an older version of the key may lie below, so that it does not come back.
            CompactionDecision::Remove
        } else {
            CompactionDecision::Keep
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}
