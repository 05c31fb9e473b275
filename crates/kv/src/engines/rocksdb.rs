//! The default engine: RocksDB on a local disk, durable before it answers.

mod damage;
mod database;
mod durability;
mod filter;
mod lock;
mod options;
mod reclaim;
mod rewrite;
mod verify;
mod wal;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use rocksdb::{DB, DBPinnableSlice, ReadOptions, SnapshotWithThreadMode, WriteBatch, WriteOptions};

use self::damage::Keeper;
use self::database::{Database, engine_error};
use self::reclaim::Reclaimer;
use self::rewrite::Rewriter;
pub use self::verify::{Verified, verify};
use crate::batch::{Batch, tally};
use crate::engine::{
    Caps, CommitError, Committed, Engine, EngineError, Millis, Page, Scan, Snapshot, Space, Stamp,
    Then, Time,
};
use crate::group::{Change, Mark, View};
use crate::judge::Judge;
use crate::open::OpenError;
use crate::sequencer::{Backend, Sequencer};

/// Room in a write for what RocksDB adds to each change.
const CHANGE_OVERHEAD_BYTES: usize = 16;
/// Up to this length a value is copied into shared bytes; beyond it the block is held instead.
const COPY_BYTES_MAX: usize = 512;

/// With less than this free, in bytes, nothing is written that makes the store larger: deletes, purging and what RocksDB
/// does to give room back need some room themselves, about as much as the log and the write buffers together.
const DISK_RESERVE_BYTES: u64 = 128 * 1024 * 1024;
/// On a small disk no more than one part in so many is kept.
const DISK_RESERVE_SHARE: u64 = 16;

/// A durable engine on a local disk.
pub struct Rocksdb {
    // Declared first, so that no commit comes any more when the rest is taken down.
    sequencer: Sequencer<Store>,
    reclaimer: Reclaimer,
    rewriter: Rewriter,
    keeper: Keeper,
    caps: Caps,
}

impl Rocksdb {
    /// Opens the store in this folder, or makes it. `relaxed` answers before the disk has it.
    pub fn open(
        path: &Path,
        relaxed: bool,
        time: Arc<dyn Time>,
        judge: Arc<dyn Judge>,
    ) -> Result<Rocksdb, OpenError> {
        let database = Database::open(path, relaxed, &judge)?;
        let mark = database.read_mark()?;
        let view = RocksdbView::new(&database, mark);
        let mut writing = WriteOptions::default();
        writing.set_sync(!relaxed);
        let caps = Caps {
            name: "rocksdb",
            key_bytes_max: 64 * 1024,
            value_bytes_max: 64 * 1024 * 1024,
            batch_bytes_max: 256 * 1024 * 1024,
            durable: !relaxed,
            judged: true,
        };
        let reclaimer = Reclaimer::new(&database);
        let rewriter = Rewriter::new(&database);
        let keeper = Keeper::start(&database)?;
        let sequencer = Sequencer::start(
            Store {
                database,
                writing,
                caps,
            },
            view,
            time,
        )?;
        Ok(Rocksdb {
            sequencer,
            reclaimer,
            rewriter,
            keeper,
            caps,
        })
    }

    /// Replaces the time.
    pub fn set_time(&self, time: Arc<dyn Time>) {
        self.sequencer.set_time(time);
    }
}

impl Engine for Rocksdb {
    type Snapshot = RocksdbSnapshot;

    async fn snapshot(&self) -> Result<RocksdbSnapshot, EngineError> {
        let (view, now) = self.sequencer.snapshot().await?;
        Ok(RocksdbSnapshot { view, now })
    }

    async fn commit_then(&self, batch: Batch, then: Then) -> Result<Committed, CommitError> {
        self.sequencer.commit_then(batch, then).await
    }

    async fn drop_range(&self, space: Space, from: &[u8], to: &[u8]) -> Result<(), EngineError> {
        if from >= to {
            return Ok(());
        }
        self.sequencer.drop_range(space, from, to).await?;
        self.reclaimer.add(space, from.to_vec(), to.to_vec())
    }

    async fn sync(&self) -> Result<(), EngineError> {
        if self.caps.durable {
            return Ok(());
        }
        self.sequencer.backend().database.sync()
    }

    async fn rewrite(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> Result<Option<Vec<u8>>, EngineError> {
        self.rewriter.run(space, from, to).await
    }

    fn caps(&self) -> Caps {
        self.caps
    }

    async fn close(&self) -> Result<(), EngineError> {
        self.sequencer.close().await;
        // Stopping the reclaimer stops RocksDB's background work too, so settling comes first.
        let settled = self.sequencer.backend().database.settle();
        self.rewriter.stop();
        self.reclaimer.stop();
        self.keeper.stop();
        match settled {
            // It was closed before.
            Err(EngineError::Closed) => Ok(()),
            other => other,
        }
    }

    fn halted(&self) -> Option<EngineError> {
        self.sequencer.halted()
    }

    fn outcomes_are_known(&self) -> bool {
        self.sequencer.outcomes_are_known()
    }

    fn damage(&self) -> Vec<String> {
        self.sequencer.backend().database.damage.texts()
    }

    fn disk_bytes(&self) -> u64 {
        self.sequencer.backend().database.disk_bytes()
    }

    fn disk_room(&self) -> Option<(u64, u64)> {
        self.sequencer.backend().database.disk_room()
    }
}

struct Store {
    database: Arc<Database>,
    writing: WriteOptions,
    caps: Caps,
}

impl Backend for Store {
    type View = RocksdbView;

    fn caps(&self) -> Caps {
        self.caps
    }

    fn out_of_room(&self) -> Option<EngineError> {
        let (free, all) = self.database.disk_room()?;
        let reserve = DISK_RESERVE_BYTES.min(all / DISK_RESERVE_SHARE);
        (free < reserve).then(|| {
            EngineError::NoSpace(format!(
                "{free} bytes are free, and the last {reserve} are kept for removing data; delete items, or give the disk more room"
            ))
        })
    }

    fn write(&self, changes: Vec<Change>, mark: Mark) -> Result<RocksdbView, EngineError> {
        let bytes = changes
            .iter()
            .map(|change| change.bytes() + CHANGE_OVERHEAD_BYTES)
            .sum();
        let mut batch = WriteBatch::with_capacity_bytes(bytes);
        for change in changes {
            match change {
                Change::Put { space, key, value } => {
                    batch.put_cf(self.database.space(space), key, value)
                }
                Change::Delete { space, key } => batch.delete_cf(self.database.space(space), key),
                Change::Add {
                    space,
                    key,
                    items,
                    bytes,
                } => {
                    batch.merge_cf(self.database.space(space), key, tally::encode(items, bytes));
                }
                // RocksDB takes an inverted range for a mistake and would refuse the whole write.
                Change::DeleteRange { space, from, to } if from < to => {
                    batch.delete_range_cf(self.database.space(space), from, to);
                }
                Change::DeleteRange { .. } => {}
            }
        }
        self.database.put_mark(&mut batch, mark);
        self.database
            .db
            .write_opt(batch, &self.writing)
            .map_err(engine_error)?;
        Ok(RocksdbView::new(&self.database, mark))
    }
}

/// The state after one write. The sequencer makes one per write and every reader shares it, so a
/// snapshot costs a reader no call into RocksDB.
pub(crate) struct RocksdbView {
    /// Reads at `snapshot`.
    reading: ReadOptions,
    // Declared before `database`, so that it is released while the database is still open.
    snapshot: SnapshotWithThreadMode<'static, DB>,
    mark: Mark,
    database: Arc<Database>,
}

impl RocksdbView {
    fn new(database: &Arc<Database>, mark: Mark) -> RocksdbView {
        let snapshot = database.db.snapshot();
        let mut reading = ReadOptions::default();
        reading.set_snapshot(&snapshot);
        RocksdbView {
            reading,
            snapshot,
            mark,
            database: Arc::clone(database),
        }
    }

    fn pin(&self, space: Space, slice: Option<DBPinnableSlice<'static>>) -> Option<Pinned> {
        let slice = slice.filter(|slice| is_shown(space, slice))?;
        Some(Pinned {
            slice,
            _database: Arc::clone(&self.database),
        })
    }

    fn multi_get(
        &self,
        space: Space,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<Pinned>>, EngineError> {
        let found = self.database.db.batched_multi_get_cf_opt(
            self.database.space(space),
            keys,
            keys.is_sorted(),
            &self.reading,
        );
        found
            .into_iter()
            .map(|value| Ok(self.pin(space, value.map_err(engine_error)?)))
            .collect()
    }

    /// The rows of a page lie one after the other in a single allocation that they share.
    fn scan(&self, scan: Scan) -> Result<Page, EngineError> {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        let next = self.visit(scan, |key, value| {
            bytes.extend_from_slice(key);
            let key_end = bytes.len();
            bytes.extend_from_slice(value);
            ends.push((key_end, bytes.len()));
        })?;
        let bytes = Bytes::from(bytes);
        let mut start = 0;
        let rows = ends.into_iter().map(|(key_end, end)| {
            let row = (bytes.slice(start..key_end), bytes.slice(key_end..end));
            start = end;
            row
        });
        Ok(Page {
            rows: rows.collect(),
            more: next.is_some(),
        })
    }

    /// Shows the rows of a page, and says with which key the next one begins.
    fn visit(
        &self,
        scan: Scan,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<Option<Vec<u8>>, EngineError> {
        if !scan.to.is_empty() && scan.from >= scan.to {
            return Ok(None);
        }
        let mut reading = ReadOptions::default();
        reading.set_snapshot(&self.snapshot);
        reading.set_iterate_lower_bound(scan.from);
        if !scan.to.is_empty() {
            reading.set_iterate_upper_bound(scan.to);
        }
        let mut cursor = self
            .database
            .db
            .raw_iterator_cf_opt(self.database.space(scan.space), reading);
        if scan.reverse {
            cursor.seek_to_last();
        } else {
            cursor.seek_to_first();
        }
        let (mut rows, mut bytes) = (0, 0);
        while let Some((key, value)) = cursor.item() {
            if is_shown(scan.space, value) {
                if rows > 0 && (rows >= scan.rows_max || bytes >= scan.bytes_max) {
                    return Ok(Some(key.to_vec()));
                }
                rows += 1;
                bytes += key.len() + value.len();
                see(key, value);
            }
            if scan.reverse {
                cursor.prev();
            } else {
                cursor.next();
            }
        }
        cursor.status().map_err(engine_error)?;
        Ok(None)
    }
}

/// A sum of zeros is as good as none, whether or not a compaction has removed it yet.
fn is_shown(space: Space, value: &[u8]) -> bool {
    space != Space::Tally || *value != [0; tally::BYTES]
}

impl View for RocksdbView {
    type Slice = Pinned;

    fn mark(&self) -> Mark {
        self.mark
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Pinned>, EngineError> {
        let found =
            self.database
                .db
                .get_pinned_cf_opt(self.database.space(space), key, &self.reading);
        Ok(self.pin(space, found.map_err(engine_error)?))
    }
}

/// A value in RocksDB's own memory.
pub struct Pinned {
    // Declared before `_database`, so that the block is let go while the database is still open.
    slice: DBPinnableSlice<'static>,
    _database: Arc<Database>,
}

impl AsRef<[u8]> for Pinned {
    fn as_ref(&self) -> &[u8] {
        &self.slice
    }
}

impl From<Pinned> for Bytes {
    fn from(pinned: Pinned) -> Bytes {
        if pinned.slice.len() <= COPY_BYTES_MAX {
            Bytes::copy_from_slice(&pinned.slice)
        } else {
            Bytes::from_owner(pinned)
        }
    }
}

/// A snapshot of [`Rocksdb`].
#[derive(Clone)]
pub struct RocksdbSnapshot {
    view: Arc<RocksdbView>,
    now: Millis,
}

/// Reads run on the caller's thread: most are answered from memory, where handing them to another
/// thread would cost more than the read.
impl Snapshot for RocksdbSnapshot {
    type Slice = Pinned;

    fn now(&self) -> Millis {
        self.now
    }

    fn stamp(&self) -> Stamp {
        self.view.mark.stamp
    }

    async fn get(&self, space: Space, key: &[u8]) -> Result<Option<Pinned>, EngineError> {
        self.view.get(space, key)
    }

    async fn multi_get(
        &self,
        space: Space,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<Pinned>>, EngineError> {
        self.view.multi_get(space, keys)
    }

    async fn scan(&self, scan: Scan) -> Result<Page, EngineError> {
        self.view.scan(scan)
    }

    async fn visit(
        &self,
        scan: Scan,
        see: impl FnMut(&[u8], &[u8]) + Send,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        self.view.visit(scan, see)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
