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

/// Makes the data folder if it is not there. An empty one is made its owner's alone; one that holds data which others can reach, in
/// the folder itself or in the parts of it that are `own`, is refused, or used as it is if that `is_accepted`. Returns what to warn of.
pub fn prepare(path: &Path, own: &[&str], is_accepted: bool) -> Result<Option<String>, String> {
    let failed = |error: std::io::Error| format!("cannot use {}: {error}", path.display());
    match fs::metadata(path) {
        Ok(found) if !found.is_dir() => return Err(format!("{} is not a folder", path.display())),
        Ok(found) if is_open(&found) && !is_accepted && is_empty(path).map_err(failed)? => {
            tighten(path).map_err(|error| refusal(path, &described(path, &found), Some(&error)))?;
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let made = DirBuilder::new()
                .recursive(true)
                .mode(FOLDER_MODE)
                .create(path);
            made.map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        }
        Err(error) => return Err(failed(error)),
    }
    // Looked at again: some file systems give everything the same mode, whatever is asked for.
    let found = fs::metadata(path).map_err(failed)?;
    let mut open = Vec::new();
    if is_open(&found) {
        open.push(described(path, &found));
    }
    for name in own {
        add_open(&path.join(name), &mut open)?;
    }
    let Some(first) = open.first() else {
        return Ok(None);
    };
    if !is_accepted {
        return Err(refusal(path, first, None));
    }
    Ok(Some(format!(
        "other users can reach {} files and folders of the store, accepted by --insecure-data-mode, the first of them: {first}",
        open.len()
    )))
}

/// Adds an entry and all below it that other users can reach.
fn add_open(path: &Path, open: &mut Vec<String>) -> Result<(), String> {
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
        open.push(described(path, &found));
    }
    if found.is_dir() {
        for entry in fs::read_dir(path).map_err(failed)? {
            add_open(&entry.map_err(failed)?.path(), open)?;
        }
    }
    Ok(())
}

fn tighten(path: &Path) -> std::io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE))?;
    if is_open(&fs::metadata(path)?) {
        return Err(std::io::Error::other("the file system keeps its mode"));
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

fn described(path: &Path, found: &Metadata) -> String {
    let mode = found.permissions().mode() & 0o7777;
    format!("{} (mode {mode:04o})", path.display())
}

fn refusal(data_path: &Path, what: &str, error: Option<&std::io::Error>) -> String {
    let data_path = data_path.display();
    let why = error.map_or_else(String::new, |error| {
        format!("; its mode could not be changed: {error}")
    });
    format!(
        "{what} can be reached by other users, and must be its owner's alone{why}. Run `chmod -R go= '{data_path}'`, let --data-path name \
         a folder that does not exist yet, such as '{data_path}/lapsedb', or accept it with --insecure-data-mode"
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

    /// A data folder with a store in it, all of it its owner's alone, and each entry.
    fn filled(data: &Path) -> Vec<std::path::PathBuf> {
        let file = data.join("store/rocksdb/000001.sst");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        let all = vec![
            data.to_owned(),
            data.join("store"),
            data.join("store/rocksdb"),
            file,
        ];
        for path in &all {
            set(path, if path.is_dir() { 0o700 } else { 0o600 });
        }
        all
    }

    #[test]
    fn a_new_folder_and_an_empty_one_become_their_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("a/b");
        assert_eq!(prepare(&new, &OWN, false), Ok(None));
        assert_eq!(mode(&new), 0o700);
        set(&new, 0o755);
        fs::create_dir(new.join(OF_A_NEW_VOLUME)).unwrap();
        assert_eq!(prepare(&new, &OWN, false), Ok(None));
        assert_eq!(mode(&new), 0o700);
    }

    #[test]
    fn data_that_others_can_reach_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path();
        let all = filled(data);
        assert_eq!(prepare(data, &OWN, false), Ok(None));
        for path in &all {
            let tight = mode(path);
            for bits in [0o040, 0o020, 0o010, 0o004, 0o002, 0o001, 0o070, 0o077] {
                set(path, tight | bits);
                let line = prepare(data, &OWN, false).unwrap_err();
                for part in [
                    format!("{} (mode {:04o})", path.display(), tight | bits),
                    format!("chmod -R go= '{}'", data.display()),
                    format!("'{}/lapsedb'", data.display()),
                    "--insecure-data-mode".to_owned(),
                ] {
                    assert!(line.contains(&part), "{part}: {line}");
                }
                assert_eq!(mode(path), tight | bits, "nothing is changed");
            }
            set(path, tight);
        }
        // What is not LapseDB's is for others to judge.
        fs::write(data.join("notes"), "").unwrap();
        set(&data.join("notes"), 0o644);
        assert_eq!(prepare(data, &OWN, false), Ok(None));
        let line = prepare(&data.join("notes"), &OWN, false).unwrap_err();
        assert!(line.contains("not a folder"), "{line}");
    }

    #[test]
    fn a_mode_that_cannot_be_changed_is_reported() {
        // The kernel lets nobody change a mode here, not even root.
        let path = Path::new("/proc/self/task");
        let error = tighten(path).unwrap_err();
        let line = refusal(path, "/proc/self/task (mode 0555)", Some(&error));
        assert!(line.contains("could not be changed"), "{line}");
        assert!(line.contains("--insecure-data-mode"), "{line}");
    }

    #[test]
    fn looser_modes_can_be_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path();
        let all = filled(data);
        for path in &all {
            set(path, 0o777);
        }
        let warning = prepare(data, &OWN, true).unwrap().unwrap();
        assert!(warning.contains("--insecure-data-mode"), "{warning}");
        assert!(warning.contains(" 4 files and folders"), "{warning}");
        assert!(all.iter().all(|path| mode(path) == 0o777));
        // Nothing to warn of is nothing warned of.
        filled(data);
        assert_eq!(prepare(data, &OWN, true), Ok(None));
        let new = data.join("new");
        assert_eq!(prepare(&new, &OWN, true), Ok(None));
        assert_eq!(mode(&new), 0o700);
    }
}
