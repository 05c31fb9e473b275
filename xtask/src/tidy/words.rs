//! What may stand in no file: paths of one machine, and package sources that are not the public ones.

use super::Complaint;

/// Written in two halves, so that this file does not hold what it looks for.
const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (concat!("/Us", "ers/"), "a path of one machine"),
    (
        concat!("/t", "mp/"),
        "a path of one machine: ask the system for its temporary folder",
    ),
    (concat!("/mn", "t/"), "a path of one machine"),
    (
        concat!("--index", "-url"),
        "a package source that is not everybody's",
    ),
    (
        concat!("--extra-index", "-url"),
        "a package source that is not everybody's",
    ),
    (
        concat!("--find", "-links"),
        "a package source that is not everybody's",
    ),
];

/// What a Rust file may not hold: the path of the clone it was compiled in, because it may run in another (docs/decisions/0020).
const PATHS_OF_A_CLONE: &[&str] = &[
    concat!("env!(\"CARGO_MANIFEST", "_DIR\")"),
    concat!("env!(\"CARGO_BIN", "_EXE_"),
];

/// Where a lock file may say a package comes from.
const PUBLIC_SOURCES: &[&str] = &[
    "https://registry.npmjs.org/",
    "registry+https://github.com/rust-lang/crates.io-index",
    "https://files.pythonhosted.org/",
];

/// Checks one text file.
pub fn check(path: &str, text: &str, complaints: &mut Vec<Complaint>) {
    for (index, line) in text.lines().enumerate() {
        for (word, why) in FORBIDDEN {
            if line.contains(word) {
                complaints.push(Complaint::new(path, index + 1, format!("`{word}`: {why}")));
            }
        }
        if path.ends_with(".rs") && PATHS_OF_A_CLONE.iter().any(|word| line.contains(word)) {
            let message = "the path of one clone: read the variable when the program runs";
            complaints.push(Complaint::new(path, index + 1, message));
        }
        if is_lock_file(path)
            && let Some(source) = package_source(line)
            && !PUBLIC_SOURCES
                .iter()
                .any(|public| source.starts_with(public))
        {
            let message = format!("`{source}`: a package source that is not everybody's");
            complaints.push(Complaint::new(path, index + 1, message));
        }
    }
}

fn is_lock_file(path: &str) -> bool {
    path.ends_with("Cargo.lock") || path.ends_with("package-lock.json")
}

/// The value of `source = "…"` (Cargo) or `"resolved": "…"` (npm).
fn package_source(line: &str) -> Option<&str> {
    let line = line.trim();
    let value = line
        .strip_prefix("source = \"")
        .or_else(|| line.strip_prefix("\"resolved\": \""))?;
    value.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> usize {
        let mut found = Vec::new();
        check(path, text, &mut found);
        found.len()
    }

    #[test]
    fn each_forbidden_word_is_found() {
        for (word, _) in FORBIDDEN {
            assert!(
                complaints("README.md", &format!("see {word}x")) >= 1,
                "{word}"
            );
        }
        assert_eq!(
            complaints("README.md", "works at home, see ./work and the root"),
            0
        );
    }

    #[test]
    fn no_program_holds_the_path_of_its_clone() {
        for word in PATHS_OF_A_CLONE {
            let line = format!("let path = {word}");
            assert_eq!(complaints("crates/a/tests/b.rs", &line), 1, "{word}");
            assert_eq!(complaints("docs/decisions/0020-a.md", &line), 0, "{word}");
        }
        let read_late = "std::env::var_os(\"CARGO_MANIFEST_DIR\")";
        assert_eq!(complaints("crates/a/tests/b.rs", read_late), 0);
    }

    #[test]
    fn lock_files_name_public_sources_only() {
        let public = "\"resolved\": \"https://registry.npmjs.org/a/-/a-1.0.0.tgz\",";
        let private = "  \"resolved\": \"https://packages.example/a/-/a-1.0.0.tgz\",";
        assert_eq!(complaints("clients/node/package-lock.json", public), 0);
        assert_eq!(complaints("clients/node/package-lock.json", private), 1);
        assert_eq!(
            complaints(
                "Cargo.lock",
                "source = \"registry+https://github.com/rust-lang/crates.io-index\""
            ),
            0
        );
        assert_eq!(
            complaints(
                "Cargo.lock",
                "source = \"sparse+https://packages.example/\""
            ),
            1
        );
        assert_eq!(complaints("notes.md", private), 0);
    }
}
