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

/// What is below a root.
pub struct Tree {
    /// Every text file, by path; files that are not UTF-8 are left out.
    pub files: Vec<TextFile>,
    /// Every symbolic link, by path, with what it leads to.
    pub links: Vec<(String, String)>,
}

/// Reads what is below `root`.
pub fn read(root: &Path) -> io::Result<Tree> {
    let mut files = Vec::new();
    let mut links = Vec::new();
    let mut folders = vec![(root.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                let to = fs::read_link(entry.path())?;
                links.push((format!("{prefix}{name}"), to.to_string_lossy().into_owned()));
            } else if SKIPPED.contains(&name.as_str()) {
                // In a second work tree `.git` is a file.
            } else if kind.is_dir() {
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
    links.sort();
    Ok(Tree { files, links })
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_whatever_they_are_called_and_not_followed() {
        let root = std::env::temp_dir().join(format!("lapsedb-tidy-{}", std::process::id()));
        fs::create_dir_all(root.join("clients/target")).unwrap();
        fs::write(root.join("clients/a.md"), "a").unwrap();
        fs::write(root.join("clients/target/built.md"), "b").unwrap();
        for name in ["node_modules", ".venv", "other"] {
            let link = root.join("clients").join(name);
            std::os::unix::fs::symlink("../elsewhere", link).unwrap();
        }
        let tree = read(&root);
        fs::remove_dir_all(&root).unwrap();
        let tree = tree.unwrap();
        let paths: Vec<_> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["clients/a.md"]);
        let links: Vec<_> = tree.links.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            links,
            ["clients/.venv", "clients/node_modules", "clients/other"]
        );
        assert!(tree.links.iter().all(|(_, to)| to == "../elsewhere"));
    }
}
