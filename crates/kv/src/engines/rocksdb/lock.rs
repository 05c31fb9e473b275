//! One process per folder, and a second one is told which.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::engine::EngineError;
use crate::open::OpenError;

/// Holds the number of the process that has the folder, and carries its lock.
const LOCK_FILE: &str = "LOCK.pid";
/// More than any process number has digits.
const PID_TEXT_BYTES_MAX: u64 = 32;

/// The lock, for as long as this lives. The system lets go of it when the process ends, however it
/// ends; so a file that is left behind locks nobody out.
pub(super) struct FolderLock {
    _file: File,
}

impl FolderLock {
    pub fn take(path: &Path) -> Result<FolderLock, OpenError> {
        let failed =
            |error: std::io::Error| EngineError::Io(format!("{}: {error}", path.display()));
        std::fs::create_dir_all(path).map_err(failed)?;
        let name = path.join(LOCK_FILE);
        let options = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(name);
        let mut file = options.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // A number that cannot be read is left out of the message; the refusal stands.
                let _ = file.take(PID_TEXT_BYTES_MAX).read_to_string(&mut text);
                return Err(OpenError::InUse {
                    path: path.to_owned(),
                    pid: text.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error).into()),
        }
        file.set_len(0).map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(FolderLock { _file: file })
    }
}
