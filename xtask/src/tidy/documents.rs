//! Documents that must exist, and the header of every crate.

use super::Complaint;
use super::tree::TextFile;

/// A reader finds these, or the house is not finished.
const REQUIRED: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "docs/record-format.md",
    "docs/ttl.md",
];

/// A bird's eye view that has to be scrolled for long is none.
const ARCHITECTURE_LINES_MAX: usize = 200;

const DECISIONS: &str = "docs/decisions/";

/// Checks that the documents are there and that decisions are numbered without gap or double.
pub fn check(files: &[TextFile], complaints: &mut Vec<Complaint>) {
    for &required in REQUIRED {
        match files.iter().find(|file| file.path == required) {
            None => complaints.push(Complaint::new(required, 0, "is missing")),
            Some(file) if file.text.trim().is_empty() => {
                complaints.push(Complaint::new(required, 0, "is empty"))
            }
            Some(file)
                if required == "ARCHITECTURE.md"
                    && file.text.lines().count() > ARCHITECTURE_LINES_MAX =>
            {
                complaints.push(Complaint::new(
                    required,
                    0,
                    format!("is longer than {ARCHITECTURE_LINES_MAX} lines"),
                ));
            }
            Some(_) => {}
        }
    }
    let decisions = files.iter().filter(|file| file.path.starts_with(DECISIONS));
    for (index, file) in decisions.enumerate() {
        let expected = format!("{DECISIONS}{:04}-", index + 1);
        if !file.path.starts_with(&expected) {
            complaints.push(Complaint::new(
                &file.path,
                0,
                format!("should start with {expected}"),
            ));
        }
    }
}

/// Checks that the root of a crate says what the crate is, before anything else.
pub fn check_header(path: &str, text: &str, complaints: &mut Vec<Complaint>) {
    let is_root = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    if is_root && !text.starts_with("//!") {
        complaints.push(Complaint::new(
            path,
            1,
            "a crate begins with `//!`: what it is, and what it never does",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house() -> Vec<TextFile> {
        let file = |path: &str| TextFile {
            path: path.to_owned(),
            text: "text\n".to_owned(),
        };
        let mut files: Vec<_> = REQUIRED.iter().map(|path| file(path)).collect();
        files.extend([
            file("docs/decisions/0001-a.md"),
            file("docs/decisions/0002-b.md"),
        ]);
        files
    }

    fn complaints(files: &[TextFile]) -> usize {
        let mut found = Vec::new();
        check(files, &mut found);
        found.len()
    }

    #[test]
    fn a_whole_house_passes_and_each_missing_or_empty_document_is_named() {
        assert_eq!(complaints(&house()), 0);
        for index in 0..REQUIRED.len() {
            let mut files = house();
            files[index].text.clear();
            assert_eq!(complaints(&files), 1);
            files.remove(index);
            assert_eq!(complaints(&files), 1);
        }
    }

    #[test]
    fn architecture_stays_short() {
        let mut files = house();
        files[0].text = "line\n".repeat(ARCHITECTURE_LINES_MAX + 1);
        assert_eq!(complaints(&files), 1);
    }

    #[test]
    fn decisions_have_no_gap_and_no_double() {
        for path in [
            "docs/decisions/0004-c.md",
            "docs/decisions/0002-c.md",
            "docs/decisions/third.md",
        ] {
            let mut files = house();
            files.push(TextFile {
                path: path.to_owned(),
                text: String::new(),
            });
            assert_eq!(complaints(&files), 1, "{path}");
        }
    }

    #[test]
    fn a_crate_without_a_header_is_named() {
        let mut found = Vec::new();
        check_header("crates/kv/src/lib.rs", "//! Bytes.\n", &mut found);
        check_header("crates/kv/src/open.rs", "use std;\n", &mut found);
        assert!(found.is_empty());
        check_header("crates/kv/src/lib.rs", "mod open;\n", &mut found);
        assert_eq!(found.len(), 1);
    }
}
