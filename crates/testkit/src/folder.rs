//! Copies the folder of a store.

use std::path::Path;

/// Copies a folder with all below it to `to`, which is made if it is not there. While a server or a store uses the folder, the copy
/// is what it would leave behind if its process were killed now.
///
/// # Panics
/// If a file cannot be copied. One that vanishes meanwhile, because the store has deleted it, is left out.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copied = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &copied);
            continue;
        }
        match std::fs::copy(entry.path(), copied) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => panic!("{}: {error}", entry.path().display()),
        }
    }
}
