//! The data folder: its owner's alone. Documents, passwords' hashes and the certificate's key lie in it.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use rustix::fs::Mode;

/// What is taken from the mode of every file this process makes: all that group and others could do.
const UMASK: u32 = 0o077;
/// The mode of the data folder.
const FOLDER_MODE: u32 = 0o700;
/// What the system itself puts into a new volume.
const OF_A_NEW_VOLUME: &str = "lost+found";

/// Has every file and folder that is made from now on be its owner's alone. RocksDB makes files by itself, so it is not
/// enough to ask for modes where we make some.
pub fn keep_to_owner() {
    rustix::process::umask(Mode::from_raw_mode(UMASK));
}

/// Makes the data folder if it is not there. A folder without anything in it is made its owner's alone; one that holds data
/// which others can reach is refused: who has already read it, only its owner can judge.
pub fn prepare(path: &Path, own: &[&str]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot use {}: {error}", path.display());
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let made = DirBuilder::new()
                .recursive(true)
                .mode(FOLDER_MODE)
                .create(path);
            return made.map_err(|error| format!("cannot make {}: {error}", path.display()));
        }
        Err(error) => return Err(failed(error)),
    };
    if !found.is_dir() {
        return Err(format!("{} is not a folder", path.display()));
    }
    if is_open(&found) {
        if !is_empty(path).map_err(failed)? {
            return Err(refusal(path, path, &found));
        }
        fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE)).map_err(|error| {
            format!(
                "{}; it could not be done now: {error}",
                refusal(path, path, &found)
            )
        })?;
    }
    for name in own {
        check(&path.join(name), path)?;
    }
    Ok(())
}

/// Refuses what group or others may use, with all below it.
fn check(path: &Path, data_path: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot look at {}: {error}", path.display());
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        // Files come and go where another server is running; it says so itself when the store is opened.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    // The mode of a link says nothing.
    if found.is_symlink() {
        return Ok(());
    }
    if is_open(&found) {
        return Err(refusal(path, data_path, &found));
    }
    if found.is_dir() {
        for entry in fs::read_dir(path).map_err(failed)? {
            check(&entry.map_err(failed)?.path(), data_path)?;
        }
    }
    Ok(())
}

fn is_open(found: &Metadata) -> bool {
    found.permissions().mode() & UMASK != 0
}

fn is_empty(path: &Path) -> std::io::Result<bool> {
    for entry in fs::read_dir(path)? {
        if entry?.file_name() != OF_A_NEW_VOLUME {
            return Ok(false);
        }
    }
    Ok(true)
}

fn refusal(path: &Path, data_path: &Path, found: &Metadata) -> String {
    format!(
        "{} is open to other users (mode {:04o}), and must be its owner's alone: run `chmod -R go= '{}'`, or let --data-path \
         name a folder that is not there yet",
        path.display(),
        found.permissions().mode() & 0o7777,
        data_path.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [&str; 2] = ["store", "tls"];

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_folder_and_an_empty_one_become_their_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("a/b");
        prepare(&new, &OWN).unwrap();
        assert_eq!(mode(&new), 0o700);
        set(&new, 0o755);
        fs::create_dir(new.join(OF_A_NEW_VOLUME)).unwrap();
        prepare(&new, &OWN).unwrap();
        assert_eq!(mode(&new), 0o700);
    }

    #[test]
    fn whatever_others_can_reach_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path();
        let file = data.join("store/rocksdb/000001.sst");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        let all = [
            data.to_owned(),
            data.join("store"),
            data.join("store/rocksdb"),
            file,
        ];
        let close = || {
            for path in &all {
                set(path, if path.is_dir() { 0o700 } else { 0o600 });
            }
        };
        close();
        prepare(data, &OWN).unwrap();
        for path in &all {
            for bits in [0o040, 0o020, 0o010, 0o004, 0o002, 0o001] {
                close();
                set(path, mode(path) | bits);
                let line = prepare(data, &OWN).unwrap_err();
                assert!(line.contains(&path.display().to_string()), "{line}");
                let fix = format!("chmod -R go= '{}'", data.display());
                assert!(line.contains(&fix), "{line}");
            }
        }
        // What is not ours is for others to judge.
        close();
        fs::write(data.join("log"), "").unwrap();
        set(&data.join("log"), 0o644);
        prepare(data, &OWN).unwrap();
        assert!(
            prepare(&data.join("log"), &OWN)
                .unwrap_err()
                .contains("not a folder")
        );
    }
}
