//! The house rules, as a test. Each rule is a pure function over text, in a file of its name.

use std::fmt;
use std::io;
use std::path::Path;

mod arrows;
mod banned;
mod dead;
mod documents;
mod sizes;
mod source;
mod tree;
mod unsafety;
mod words;

/// One broken rule at one place.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    path: String,
    /// Counted from one; zero where the whole file is meant.
    line: usize,
    message: String,
}

impl Complaint {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// What a run over the whole tree found.
pub struct Report {
    /// How many text files were looked at.
    pub files: usize,
    /// Every broken rule, in the order of paths.
    pub complaints: Vec<Complaint>,
}

/// Reads the tree below `root` and asks every rule.
pub fn check(root: &Path) -> io::Result<Report> {
    let tree::Tree { files, links } = tree::read(root)?;
    let mut complaints = Vec::new();
    for (path, to) in &links {
        complaints.push(Complaint::new(path, 0, link_message(to)));
    }
    for file in &files {
        words::check(&file.path, &file.text, &mut complaints);
        if file.path.ends_with("Cargo.toml") {
            arrows::check(&file.path, &file.text, &mut complaints);
        }
        if file.path.ends_with(".rs") {
            check_source(file, &mut complaints);
        }
    }
    documents::check(&files, &mut complaints);
    dead::check(&files, &mut complaints);
    complaints.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(Report {
        files: files.len(),
        complaints,
    })
}

/// A link is lost or wrong in an archive, on another system and in a clone elsewhere; a file or a setting does not break so.
fn link_message(to: &str) -> String {
    format!("a symbolic link to {to}: the repository holds none")
}

fn check_source(file: &tree::TextFile, complaints: &mut Vec<Complaint>) {
    let source = source::Source::read(&file.text);
    let is_test = source::is_test_path(&file.path);
    if !is_test {
        sizes::check(&file.path, &source, complaints);
    }
    banned::check(&file.path, &source, is_test, complaints);
    unsafety::check(&file.path, &source, complaints);
    documents::check_header(&file.path, &file.text, complaints);
}
