//! Reads a whole store without a server: is every byte as it was written, and if not, what would be lost.

use std::path::Path;

use rocksdb::{DB, DBRecoveryMode, IteratorMode, ReadOptions};

use super::database::{FILES, engine_error, settings};
use super::durability::Durability;
use super::lock::FolderLock;
use super::wal;
use super::wal::{Found, Inspection, Verdict};
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
    let written = Durability::stored(path)?.unwrap_or(Durability::Sync);
    let mut inspection = wal::inspect(&files)?;
    if drop_damaged_log
        && let Some(found) = &inspection.fault
        && found.verdict(written) == Verdict::Damaged
    {
        let end = || tables_end(&files, &inspection, found);
        let copies = wal::drop_damaged(path, &inspection, found, end)?;
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
    match inspection.fault.as_ref().map(|found| found.verdict(written)) {
        None => {}
        Some(Verdict::Torn) => verified.lines.push(format!(
            "{inspection}. That write was not finished; the next start removes it"
        )),
        Some(Verdict::Unsynced) => verified.lines.push(format!(
            "{inspection}. A loss of power has cost {}, which were not yet on disk (--durability relaxed); the next start removes the \
             rest of them and keeps copies of the logs",
            inspection.loss()
        )),
        Some(Verdict::Damaged) => {
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
    let (mut options, families) = settings(false, &mercy())?;
    options.set_wal_recovery_mode(DBRecoveryMode::SkipAnyCorruptedRecord);
    DB::open_cf_descriptors_read_only(&options, files, families, false).map_err(engine_error)
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

/// Whether no table knows more than the logs do up to the fault. Column families become tables one by one: if one of them were ahead,
/// items and their index entries would contradict each other.
pub(super) fn tables_end(
    files: &Path,
    inspection: &Inspection,
    found: &Found,
) -> Result<(), EngineError> {
    let is_ahead = |db: &DB| match inspection.kept.sequence {
        Some(kept) => db.latest_sequence_number() > kept,
        // No write is left in the logs, so the tables must end with the log before.
        None => inspection.in_tables > inspection.logs[found.log].number,
    };
    let why = match open(files) {
        Ok(db) if !is_ahead(&db) => return Ok(()),
        Ok(_) => "tables hold later writes already".to_owned(),
        // A log that is no longer written may not become shorter than the manifest says: tables were made from it.
        Err(error) => error.to_string(),
    };
    Err(EngineError::Corrupt(format!(
        "the damaged part of the write-ahead log cannot be dropped ({why}): without it items and indexes would contradict each \
         other; restore a backup. Nothing was changed"
    )))
}
