//! Reads the text files of the repository.

use std::fs;
use std::io;
use std::path::Path;

/// A file as git would show it.
pub struct TextFile {
    /// From the root, with `/` between the parts.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// What is built, installed or git's own.
const SKIPPED: &[&str] = &[
    ".git",
    ".cargo",
    "target",
    "node_modules",
    ".venv",
    "__pycache__",
    ".pytest_cache",
    "lapsedb-data",
    "corpus",
    "artifacts",
];

/// Every text file below `root`, by path; files that are not UTF-8 are left out.
pub fn read(root: &Path) -> io::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    let mut folders = vec![(root.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            // In a second work tree `.git` is a file.
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            if kind.is_dir() {
                folders.push((entry.path(), format!("{prefix}{name}/")));
            } else if kind.is_file()
                && let Ok(text) = String::from_utf8(fs::read(entry.path())?)
            {
                files.push(TextFile {
                    path: format!("{prefix}{name}"),
                    text,
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
