//! Copies the folder of a store.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Copies a folder with all below it to `to`, which is made anew. While a server or a store uses the folder, the copy
/// is what it would leave behind if its process were killed at one moment: a store deletes files that it has replaced, so what was
/// copied while something changed is thrown away, and copied again.
///
/// # Panics
/// If a file cannot be copied.
pub fn copy_folder(from: &Path, to: &Path) {
    loop {
        let before = files_of(from);
        if copy(from, to) && files_of(from) == before {
            return;
        }
        std::fs::remove_dir_all(to).unwrap();
    }
}

/// Copies all there is; false if a file has vanished meanwhile.
fn copy(from: &Path, to: &Path) -> bool {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copied = to.join(entry.file_name());
        if entry.path().is_dir() {
            if !copy(&entry.path(), &copied) {
                return false;
            }
            continue;
        }
        match std::fs::copy(entry.path(), copied) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return false,
            Err(error) => panic!("{}: {error}", entry.path().display()),
        }
    }
    true
}

/// All files below a folder, and how long they are: a store only appends to its files, makes new ones and deletes old ones.
fn files_of(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => files.extend(files_of(&path)),
            Ok(found) => {
                files.insert(path, found.len());
            }
            // Deleted meanwhile.
            Err(_) => {}
        }
    }
    files
}
