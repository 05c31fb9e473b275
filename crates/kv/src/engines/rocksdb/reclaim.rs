//! Gives back the disk space of dropped ranges.
//!
//! The keys are gone for readers when `drop_range` returns; this is about their bytes. Whole tables
//! of the range are deleted, which would pull the data from under a snapshot that still shows it;
//! so that waits until no snapshot from before the drop is left. What remains at the edges is
//! compacted.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::database::{Database, engine_error};
use crate::engine::{EngineError, Space};

/// Zero if there is no snapshot.
const OLDEST_SNAPSHOT_SEQUENCE: &CStr = c"rocksdb.oldest-snapshot-sequence";
/// How often to look whether the snapshots are gone.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// After so many looks (ten minutes) the range is only compacted, which respects snapshots.
const LOOKS_MAX: usize = 2400;
/// Ends the greatest key below an exclusive end, near enough: see `last_below`.
const FILLER: [u8; 16] = [u8::MAX; 16];

pub(super) struct Reclaimer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    database: Arc<Database>,
    work: Mutex<Work>,
    wake: Condvar,
}

#[derive(Default)]
struct Work {
    ranges: VecDeque<Range>,
    stopped: bool,
}

struct Range {
    space: Space,
    from: Vec<u8>,
    to: Vec<u8>,
    /// Snapshots from here on do not show the range.
    sequence: u64,
}

impl Reclaimer {
    pub fn new(database: &Arc<Database>) -> Reclaimer {
        let shared = Shared {
            database: Arc::clone(database),
            work: Mutex::default(),
            wake: Condvar::new(),
        };
        Reclaimer {
            shared: Arc::new(shared),
            thread: Mutex::new(None),
        }
    }

    /// Takes a range that has been removed for readers. The thread starts with the first one.
    pub fn add(&self, space: Space, from: Vec<u8>, to: Vec<u8>) -> Result<(), EngineError> {
        let sequence = self.shared.database.db.latest_sequence_number();
        let mut thread = self.thread.lock();
        {
            let mut work = self.shared.work.lock();
            if work.stopped {
                return Ok(());
            }
            work.ranges.push_back(Range {
                space,
                from,
                to,
                sequence,
            });
        }
        self.shared.wake.notify_one();
        if thread.is_none() {
            let inside = Arc::clone(&self.shared);
            let spawned = std::thread::Builder::new()
                .name("reclaim".to_owned())
                .spawn(move || inside.run());
            *thread =
                Some(spawned.map_err(|error| EngineError::Io(format!("no thread: {error}")))?);
        }
        Ok(())
    }

    /// Ends the work; what is left is done by later compactions.
    pub fn stop(&self) {
        self.shared.work.lock().stopped = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            self.shared.database.db.cancel_all_background_work(false);
            // A panic in there was already reported by its hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Reclaimer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self) {
        while let Some(range) = self.next() {
            if self.wait_for_snapshots(&range) {
                // A failure costs disk space until a later compaction, and nothing else.
                let _ = self.delete_tables(&range);
            }
            if !self.work.lock().stopped {
                let family = self.database.space(range.space);
                self.database
                    .db
                    .compact_range_cf(family, Some(&range.from), Some(&range.to));
            }
        }
    }

    fn next(&self) -> Option<Range> {
        let mut work = self.work.lock();
        loop {
            if work.stopped {
                return None;
            }
            if let Some(range) = work.ranges.pop_front() {
                return Some(range);
            }
            self.wake.wait(&mut work);
        }
    }

    /// Whether no snapshot is left that shows the range.
    fn wait_for_snapshots(&self, range: &Range) -> bool {
        for _ in 0..LOOKS_MAX {
            match self
                .database
                .db
                .property_int_value(OLDEST_SNAPSHOT_SEQUENCE)
            {
                Ok(Some(oldest)) if oldest == 0 || oldest >= range.sequence => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
            let mut work = self.work.lock();
            if work.stopped {
                return false;
            }
            self.wake.wait_for(&mut work, LOOK_EVERY);
        }
        false
    }

    fn delete_tables(&self, range: &Range) -> Result<(), EngineError> {
        let last = last_below(&range.to);
        if last < range.from {
            return Ok(());
        }
        let family = self.database.space(range.space);
        self.database
            .db
            .delete_file_in_range_cf(family, &range.from, &last)
            .map_err(engine_error)
    }
}

/// A key below `end`, close to it. RocksDB deletes tables up to and including the key it is given,
/// where our ranges end before it.
fn last_below(end: &[u8]) -> Vec<u8> {
    let mut key = end.to_vec();
    if let Some(last) = key.pop().filter(|last| *last > 0) {
        key.push(last - 1);
        key.extend_from_slice(&FILLER);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::last_below;

    #[test]
    fn the_last_key_lies_below_the_end() {
        for end in [
            &b"\x00"[..],
            b"a",
            b"a\x00",
            b"\xff",
            b"\xff\xff",
            b"ab\x01",
        ] {
            assert!(last_below(end).as_slice() < end, "{end:?}");
        }
        assert!(last_below(b"b") > b"azzzz".to_vec());
    }
}
