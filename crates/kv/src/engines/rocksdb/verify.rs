//! Reads a whole store without a server: is every byte as it was written, and if not, what would be lost.

use std::path::Path;

use rocksdb::{DB, DBRecoveryMode, IteratorMode, ReadOptions};

use super::database::{FILES, engine_error, families};
use super::lock::FolderLock;
use super::{options, wal};
use crate::engine::{EngineError, Space};
use crate::judge::mercy;
use crate::open::OpenError;

/// What was found. Each line is for people.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// What was read.
    pub lines: Vec<String>,
    /// What is damaged; empty if the store will start.
    pub damage: Vec<String>,
}

/// Reads all logs and tables of the store in this folder and compares checksums. With `drop_damaged_log`, a log that is damaged is cut
/// off before the damage, if that leaves a consistent store; copies stay beside it.
///
/// # Errors
/// When another process has the store, there is none, or it cannot be read at all.
pub fn verify(path: &Path, drop_damaged_log: bool) -> Result<Verified, OpenError> {
    let files = path.join(FILES);
    if !files.join("CURRENT").exists() {
        return Err(EngineError::Io(format!("there is no store at {}", path.display())).into());
    }
    let _lock = FolderLock::take(path)?;
    let mut verified = Verified::default();
    let mut inspection = wal::inspect(&files)?;
    if drop_damaged_log
        && let Some(found) = &inspection.fault
        && !found.is_torn(false)
    {
        let kept = inspection.kept.sequence.unwrap_or(0);
        let copies = wal::drop_damaged(path, &inspection, found, || tables_end(&files, kept))?;
        let lost = inspection.loss();
        let line = format!(
            "dropped: {lost}. {inspection}. The logs as they were: {}",
            copies.display()
        );
        verified.lines.push(line);
        inspection = wal::inspect(&files)?;
    }
    let commit = inspection.kept.newest;
    let commit = commit.map_or_else(String::new, |mark| {
        format!(", up to commit {}", mark.stamp.0)
    });
    verified.lines.push(format!(
        "write-ahead log: {} files, {} writes{commit}",
        inspection.logs.len(),
        inspection.kept.begun
    ));
    match &inspection.fault {
        None => {}
        Some(found) if found.is_torn(false) => verified.lines.push(format!(
            "{inspection}. That write was not finished and not acknowledged; the next start removes it"
        )),
        Some(_) => {
            let lost = inspection.loss();
            verified.damage.push(format!(
                "{inspection}. Without the damaged part {lost} would be lost; `lapsedb verify --drop-damaged-log` drops it"
            ));
        }
    }
    match open(&files) {
        Ok(db) => read_tables(&db, &mut verified),
        Err(error) => verified.damage.push(error.to_string()),
    }
    Ok(verified)
}

/// Opens for reading alone. What the log holds was judged before.
fn open(files: &Path) -> Result<DB, EngineError> {
    let mut options = options::database(false).map_err(engine_error)?;
    options.set_wal_recovery_mode(DBRecoveryMode::SkipAnyCorruptedRecord);
    DB::open_cf_descriptors_read_only(&options, files, families(&mercy()), false)
        .map_err(engine_error)
}

fn read_tables(db: &DB, verified: &mut Verified) {
    for space in Space::ALL {
        let name = space.name();
        let Some(family) = db.cf_handle(name) else {
            verified
                .damage
                .push(format!("the column family {name} is missing"));
            continue;
        };
        let mut reading = ReadOptions::default();
        reading.fill_cache(false);
        let (mut entries, mut bytes) = (0u64, 0u64);
        for entry in db.iterator_cf_opt(family, reading, IteratorMode::Start) {
            match entry {
                Ok((key, value)) => {
                    entries += 1;
                    bytes += (key.len() + value.len()) as u64;
                }
                Err(error) => {
                    verified
                        .damage
                        .push(format!("{name}: {}", engine_error(error)));
                    break;
                }
            }
        }
        verified
            .lines
            .push(format!("{name}: {entries} entries, {bytes} bytes"));
    }
}

/// Whether no table knows more than the log does up to `kept`. Column families become tables one by one: if one of them were ahead,
/// items and their index entries would contradict each other.
fn tables_end(files: &Path, kept: u64) -> Result<(), EngineError> {
    let why = match open(files) {
        Ok(db) if db.latest_sequence_number() <= kept => return Ok(()),
        Ok(_) => "tables hold later writes already".to_owned(),
        // A log that is no longer written may not become shorter than the manifest says: tables were made from it.
        Err(error) => error.to_string(),
    };
    Err(EngineError::Corrupt(format!(
        "the damaged part of the write-ahead log cannot be dropped ({why}): without it items and indexes would contradict each \
         other; restore a backup. Nothing was changed"
    )))
}
