//! The open files: one RocksDB, its column families, and the lock on the folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksdb::{
    ColumnFamily, ColumnFamilyDescriptor, DB, DEFAULT_COLUMN_FAMILY_NAME, ErrorKind, FlushOptions,
    Options, WriteBatch,
};

use super::damage::Damage;
use super::durability::Durability;
use super::lock::FolderLock;
use super::verify::tables_end;
use super::wal::Verdict;
use super::{options, wal};
use crate::engine::{EngineError, Space, Stamp};
use crate::group::Mark;
use crate::judge::Judge;
use crate::open::OpenError;

/// The folder of RocksDB's files, within the folder of the store.
pub(super) const FILES: &str = "rocksdb";
/// Where the mark stands, in the default column family, which holds nothing else.
pub(super) const MARK_KEY: &[u8] = b"mark";
/// The first byte of the mark: the format of the engine's own data.
const MARK_FORMAT: u8 = 1;
/// How RocksDB words ENOSPC, and with it every error that it recovers from (`tools/rocksdb/cpp/io_posix.cc`).
const NO_SPACE: &str = "No space left on device";
/// How the system words EDQUOT.
const NO_QUOTA: &str = "Disk quota exceeded";
/// How the system words EMFILE, and at the beginning ENFILE.
const NO_FILES: &str = "Too many open files";
pub(super) const MARK_BYTES: usize = 17;

/// Whatever is handed out of the database — views, slices — holds an `Arc` of this.
pub(super) struct Database {
    /// Lives exactly as long as `_owner`; see `open`.
    pub db: &'static DB,
    spaces: [&'static ColumnFamily; Space::ALL.len()],
    _owner: Arc<DB>,
    /// Tables that could not be read in the background.
    pub damage: Arc<Damage>,
    files: PathBuf,
    // Declared last, so that the folder is free only once the files are closed.
    _lock: FolderLock,
}

impl Database {
    pub fn open(
        path: &Path,
        relaxed: bool,
        judge: &Arc<dyn Judge>,
    ) -> Result<Arc<Database>, OpenError> {
        let lock = FolderLock::take(path)?;
        let files = path.join(FILES);
        let is_new = is_new(&files)?;
        let promised = Durability::new(relaxed);
        let written = Durability::stored(path)?;
        end_log_with_a_whole_record(path, written.unwrap_or(promised))?;
        let (mut options, families) = settings(is_new, judge)?;
        let damage = Damage::of(&mut options);
        let db = DB::open_cf_descriptors(&options, &files, families).map_err(engine_error)?;
        // Opening has moved all that the logs held to tables. What is written from now on is under this run's promise.
        if written != Some(promised) {
            promised.store(path)?;
        }
        let owner = Arc::new(db);
        // SAFETY: the reference points into the allocation of `owner`, which neither moves nor ends
        // before the `Database` that holds it. The reference and what is borrowed through it (families,
        // snapshots, slices) stay inside this engine, in structures that hold an `Arc<Database>` and
        // drop it last. `DB` is only ever used through shared references.
        #[allow(unsafe_code)]
        let db: &'static DB = unsafe { &*Arc::as_ptr(&owner) };
        let mut spaces = Vec::with_capacity(Space::ALL.len());
        for space in Space::ALL {
            let family = db.cf_handle(space.name());
            spaces.push(
                family
                    .ok_or_else(|| EngineError::Corrupt(format!("{} is missing", space.name())))?,
            );
        }
        let spaces = spaces
            .try_into()
            .map_err(|_| EngineError::Corrupt("column families are missing".to_owned()))?;
        Ok(Arc::new(Database {
            db,
            spaces,
            _owner: owner,
            damage,
            files,
            _lock: lock,
        }))
    }

    pub fn space(&self, space: Space) -> &'static ColumnFamily {
        self.spaces[space as usize]
    }

    pub fn put_mark(&self, batch: &mut WriteBatch, mark: Mark) {
        let mut value = [MARK_FORMAT; MARK_BYTES];
        value[1..9].copy_from_slice(&mark.stamp.0.to_be_bytes());
        value[9..].copy_from_slice(&mark.now.to_be_bytes());
        batch.put(MARK_KEY, value);
    }

    /// Where the order and the time stood when the store was last written.
    pub fn read_mark(&self) -> Result<Mark, EngineError> {
        let Some(value) = self.db.get_pinned(MARK_KEY).map_err(engine_error)? else {
            return Ok(Mark::default());
        };
        mark_of_value(&value)
    }

    /// Makes the log durable as far as it is written.
    pub fn sync(&self) -> Result<(), EngineError> {
        self.db.flush_wal(true).map_err(engine_error)
    }

    /// Moves what is in memory to tables, so that the next start has no log to replay.
    pub fn settle(&self) -> Result<(), EngineError> {
        self.sync()?;
        let default = self.db.cf_handle(DEFAULT_COLUMN_FAMILY_NAME);
        let families: Vec<_> = self.spaces.iter().copied().chain(default).collect();
        self.db
            .flush_cfs_opt(
                &families.iter().collect::<Vec<_>>(),
                &FlushOptions::default(),
            )
            .map_err(engine_error)
    }

    #[cfg(not(target_os = "linux"))]
    pub fn disk_room(&self) -> Option<(u64, u64)> {
        None
    }

    /// Free bytes of the disk, and all of them.
    #[cfg(target_os = "linux")]
    #[allow(
        unsafe_code,
        reason = "the standard library cannot ask how full a disk is"
    )]
    pub fn disk_room(&self) -> Option<(u64, u64)> {
        use std::os::unix::ffi::OsStrExt;
        let path = std::ffi::CString::new(self.files.as_os_str().as_bytes()).ok()?;
        // SAFETY: statvfs is plain data for which all zeroes is a value.
        let mut room: libc::statvfs = unsafe { std::mem::zeroed() };
        // SAFETY: the path ends with a zero, and both outlive the call.
        let answer = unsafe { libc::statvfs(path.as_ptr(), &raw mut room) };
        let bytes = |blocks: u64| blocks.saturating_mul(room.f_frsize);
        (answer == 0).then(|| (bytes(room.f_bavail), bytes(room.f_blocks)))
    }

    /// The size of all files; those that vanish while being counted count nothing.
    pub fn disk_bytes(&self) -> u64 {
        let Ok(entries) = std::fs::read_dir(&self.files) else {
            return 0;
        };
        entries
            .flatten()
            .filter_map(|entry| entry.metadata().ok())
            .map(|file| file.len())
            .sum()
    }
}

/// The settings of the database, and of all its column families.
pub(super) fn settings(
    is_new: bool,
    judge: &Arc<dyn Judge>,
) -> Result<(Options, Vec<ColumnFamilyDescriptor>), EngineError> {
    let cache = options::cache();
    let database = options::database(is_new, &cache).map_err(engine_error)?;
    let own = (DEFAULT_COLUMN_FAMILY_NAME, Space::Meta);
    let families = Space::ALL.iter().map(|space| (space.name(), *space));
    let families = families
        .chain([own])
        .map(|(name, space)| {
            let options = options::family(space, &cache, judge)?;
            Ok(ColumnFamilyDescriptor::new(name, options))
        })
        .collect::<Result<_, _>>()
        .map_err(engine_error)?;
    Ok((database, families))
}

/// The mark that these bytes say.
pub(super) fn mark_of_value(value: &[u8]) -> Result<Mark, EngineError> {
    let damaged =
        || EngineError::Corrupt("the mark of the newest commit is not readable".to_owned());
    let (format, numbers) = value.split_first().ok_or_else(damaged)?;
    if *format != MARK_FORMAT {
        return Err(EngineError::Corrupt(format!(
            "the store has format {format}; this program knows {MARK_FORMAT}"
        )));
    }
    let both = u128::from_be_bytes(numbers.try_into().map_err(|_| damaged())?);
    Ok(Mark {
        stamp: Stamp((both >> 64) as u64),
        now: both as u64,
    })
}

/// Removes what a loss of power has left of writes that did not have to survive it. Refuses a log that is damaged: what would be missing
/// without the damaged part was acknowledged.
fn end_log_with_a_whole_record(store: &Path, written: Durability) -> Result<(), EngineError> {
    let files = store.join(FILES);
    let inspection = wal::inspect(&files)?;
    let Some(found) = &inspection.fault else {
        return Ok(());
    };
    match found.verdict(written) {
        Verdict::Damaged => Err(EngineError::Corrupt(format!(
            "the write-ahead log is damaged: {inspection}. Without the damaged part {} would be lost. Restore a backup, or \
             run `lapsedb verify`, which says more and can drop that part",
            inspection.loss()
        ))),
        Verdict::Torn => {
            tracing::info!(log = %inspection, "the last write before the server ended was not finished; it is removed");
            wal::cut_torn_end(&inspection, found)
        }
        Verdict::Unsynced => {
            let end = || tables_end(&files, &inspection, found);
            let copies = wal::drop_damaged(store, &inspection, found, end)?;
            tracing::warn!(
                log = %inspection,
                lost = inspection.loss(),
                copies = %copies.display(),
                "a loss of power has cost commits that were not yet on disk (--durability relaxed); copies of the logs are kept"
            );
            Ok(())
        }
    }
}

/// Whether there is nothing yet. RocksDB takes a folder without its CURRENT file for empty, starts
/// afresh there and removes the tables it finds; so such a folder is refused if it holds data.
fn is_new(files: &Path) -> Result<bool, EngineError> {
    let failed = |error| EngineError::Io(format!("{}: {error}", files.display()));
    if files.join("CURRENT").try_exists().map_err(failed)? {
        return Ok(false);
    }
    std::fs::create_dir_all(files).map_err(failed)?;
    for entry in std::fs::read_dir(files).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let is_table = path.extension().is_some_and(|end| end == "sst");
        let is_log = path.extension().is_some_and(|end| end == "log")
            && entry.metadata().map_err(failed)?.len() > 0;
        if is_table || is_log {
            return Err(EngineError::Corrupt(format!(
                "{} holds data but no CURRENT file",
                files.display()
            )));
        }
    }
    Ok(true)
}

/// Whether an error of the system is one that passes without a restart: no room, or no file descriptor.
pub(super) fn passes(text: &str) -> bool {
    [NO_FILES, NO_SPACE, NO_QUOTA]
        .iter()
        .any(|words| text.contains(words))
}

/// RocksDB's text already says which file; only the kind decides what a caller can do.
pub(super) fn engine_error(error: rocksdb::Error) -> EngineError {
    match error.kind() {
        // RocksDB has a code of its own for these, which the crate does not pass on; the texts are always the same.
        ErrorKind::IOError if error.as_ref().contains(NO_FILES) => {
            EngineError::NoFiles(error.into_string())
        }
        ErrorKind::IOError if passes(error.as_ref()) => EngineError::NoSpace(error.into_string()),
        ErrorKind::Corruption => EngineError::Corrupt(error.into_string()),
        ErrorKind::ShutdownInProgress => EngineError::Closed,
        ErrorKind::NotFound
        | ErrorKind::NotSupported
        | ErrorKind::InvalidArgument
        | ErrorKind::IOError
        | ErrorKind::MergeInProgress
        | ErrorKind::Incomplete
        | ErrorKind::TimedOut
        | ErrorKind::Aborted
        | ErrorKind::Busy
        | ErrorKind::Expired
        | ErrorKind::TryAgain
        | ErrorKind::CompactionTooLarge
        | ErrorKind::ColumnFamilyDropped
        | ErrorKind::Unknown => EngineError::Io(error.into_string()),
    }
}
