//! Brings a log into the state that RocksDB demands: it ends with a whole record.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Found, Inspection};
use crate::engine::EngineError;

/// Begins the name of the folder that keeps what was dropped, beside RocksDB's files.
const DROPPED: &str = "dropped-log";

/// Cuts a log off behind its last whole record, durably. Logs behind it hold nothing then. The newest is cut first: whenever that is
/// interrupted, what is left has the same fault with less behind it.
pub fn cut_torn_end(inspection: &Inspection, found: &Found) -> Result<(), EngineError> {
    let logs = inspection.logs.iter().enumerate();
    for (at, log) in logs.skip(found.log).rev() {
        let length = if at == found.log { found.whole } else { 0 };
        let cut = || {
            let file = OpenOptions::new().write(true).open(&log.path)?;
            file.set_len(length)?;
            file.sync_all()
        };
        cut().map_err(|error: std::io::Error| {
            EngineError::Io(format!("{}: cannot be cut: {error}", log.path.display()))
        })?;
    }
    Ok(())
}

/// Keeps copies of the damaged log and of those behind it in a folder beside RocksDB's files, then cuts them off before the damage.
/// `may_go_on` looks at the result; if it says no, everything is put back.
pub fn drop_damaged(
    store: &Path,
    inspection: &Inspection,
    found: &Found,
    may_go_on: impl FnOnce() -> Result<(), EngineError>,
) -> Result<PathBuf, EngineError> {
    let folder = new_folder(store, inspection.logs[found.log].number, found.offset)?;
    let failed = |error: std::io::Error| EngineError::Io(format!("{}: {error}", folder.display()));
    let mut copies = Vec::new();
    for log in &inspection.logs[found.log..] {
        let copy = folder.join(log.path.file_name().unwrap_or_default());
        std::fs::copy(&log.path, &copy).map_err(failed)?;
        File::open(&copy)
            .and_then(|file| file.sync_all())
            .map_err(failed)?;
        copies.push((copy, &log.path));
    }
    for path in [folder.as_path(), store] {
        File::open(path)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)?;
    }
    let dropped = cut_torn_end(inspection, found).and_then(|()| may_go_on());
    if let Err(error) = dropped {
        for (copy, original) in copies {
            std::fs::copy(copy, original).map_err(failed)?;
            File::open(original)
                .and_then(|file| file.sync_all())
                .map_err(failed)?;
        }
        std::fs::remove_dir_all(&folder).map_err(failed)?;
        return Err(error);
    }
    Ok(folder)
}

/// A folder for copies. One that is there already has copies from before an interruption, which are worth more than those of what is left.
fn new_folder(store: &Path, log: u64, offset: u64) -> Result<PathBuf, EngineError> {
    let name = format!("{DROPPED}-{log:06}-{offset}");
    let mut folder = store.join(&name);
    let mut attempt = 1;
    loop {
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                attempt += 1;
                folder = store.join(format!("{name}-{attempt}"));
            }
            Err(error) => {
                return Err(EngineError::Io(format!("{}: {error}", folder.display())));
            }
        }
    }
}
