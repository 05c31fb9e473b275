//! `.cargo/config.toml` of the clone: how cargo, called by `make` or by hand, finds the library.

use std::path::Path;

use crate::Result;

/// Where cargo looks for it.
const FILE: &str = ".cargo/config.toml";

/// The first line of a file that is ours to rewrite.
const MARK: &str = "# Written by make (tools/rocksdb), not kept by git: links the RocksDB that is compiled once per machine.";

/// Whether `library_folder` is what the file says. Cargo sets the variables of the file for the programs it starts, this one too.
pub fn names(root: &Path, library_folder: &str) -> bool {
    let text = std::fs::read_to_string(root.join(FILE)).unwrap_or_default();
    text.starts_with(MARK) && text.contains(&setting(library_folder))
}

fn setting(library_folder: &str) -> String {
    format!("ROCKSDB_LIB_DIR = {library_folder:?}\n")
}

/// Writes the file where it is missing or names another folder. Somebody's own file is not touched.
pub fn write(root: &Path, library_folder: &Path) -> Result<()> {
    let path = root.join(FILE);
    let text = format!(
        "{MARK}\n[env]\n{}ROCKSDB_STATIC = \"1\"\n",
        setting(&library_folder.display().to_string())
    );
    match std::fs::read_to_string(&path) {
        Ok(present) if present == text => return Ok(()),
        Ok(present) if !present.starts_with(MARK) => {
            return Err(format!(
                "{} is your own: set ROCKSDB_LIB_DIR={} and ROCKSDB_STATIC=1 in the environment",
                path.display(),
                library_folder.display()
            ));
        }
        Ok(_) | Err(_) => {}
    }
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    std::fs::create_dir_all(root.join(".cargo")).map_err(failed)?;
    // By a rename: a cargo that starts at this moment reads the old file or the new one.
    let part = path.with_extension(format!("part{}", std::process::id()));
    std::fs::write(&part, text).map_err(failed)?;
    std::fs::rename(&part, &path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_file_follows_the_library_and_somebody_elses_is_not_touched() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(".cargo/config.toml");
        write(root.path(), Path::new("/cache/one")).unwrap();
        write(root.path(), Path::new("/cache/two")).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("ROCKSDB_LIB_DIR = \"/cache/two\"\n"),
            "{text}"
        );
        assert!(names(root.path(), "/cache/two"));
        assert!(!names(root.path(), "/cache/one"));
        std::fs::write(&file, "[net]\noffline = true\n").unwrap();
        let refused = write(root.path(), Path::new("/cache/two")).unwrap_err();
        assert!(refused.contains("ROCKSDB_LIB_DIR=/cache/two"), "{refused}");
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "[net]\noffline = true\n"
        );
        assert!(!names(root.path(), "/cache/two"));
    }
}
