//! Runs cases written as text. `spec/README.md` says how they are written.

mod expect;
mod mongo;
mod run;
mod script;

use std::fs;
use std::path::{Path, PathBuf};

use crate::server::{Engine, Options, Server};
use expect::Expected;
use run::Runner;
use script::Line;

/// What a run has found.
#[derive(Debug, Default)]
pub struct Report {
    /// How many cases were run.
    pub cases: usize,
    /// How many expectations were checked.
    pub checks: usize,
    /// What was not as expected: file, line, case, and the difference.
    pub failures: Vec<String>,
}

impl Report {
    /// Fails the test if anything was not as expected.
    pub fn assert(&self) {
        assert!(self.cases > 0, "no case was found");
        assert!(
            self.failures.is_empty(),
            "{} of {} checks failed:\n{}",
            self.failures.len(),
            self.checks,
            self.failures.join("\n")
        );
    }
}

/// Runs every `.spec` file of a folder under `spec/` on an engine. With `UPDATE=1`, what was not as expected is rewritten
/// in the files, to be read in the diff.
#[must_use]
pub fn run_folder(folder: &str, engine: Engine) -> Report {
    let mut report = Report::default();
    let mut shared = None;
    for path in files(folder) {
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        let name = path
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let lines = script::parse(&text)
            .unwrap_or_else(|(line, error)| panic!("{}:{line}: {error}", path.display()));
        match flags(&lines) {
            Some(flags) => {
                let mut options = Options::new(engine);
                options.flags = flags;
                run_file(
                    &Server::start(&options),
                    &path,
                    &name,
                    &text,
                    &lines,
                    &mut report,
                );
            }
            None => {
                // Nothing is purged behind a case's back, so that it can count the dead.
                let mut options = Options::new(engine).flag("--purge").flag("off");
                if folder.starts_with("mongo") {
                    options = options.flag("--mongo-port").flag("0");
                }
                let server = shared.get_or_insert_with(|| Server::start(&options));
                run_file(server, &path, &name, &text, &lines, &mut report);
            }
        }
    }
    report
}

/// The flags of a file that wants a server of its own.
fn flags(lines: &[Line]) -> Option<Vec<String>> {
    let line = lines.iter().find(|line| line.verb == "server")?;
    Some(line.rest.split_whitespace().map(str::to_owned).collect())
}

fn run_file(
    server: &Server,
    path: &Path,
    name: &str,
    text: &str,
    lines: &[Line],
    report: &mut Report,
) {
    let mut runner = Runner::new(server, name);
    let mut rewritten: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut changed = false;
    for line in lines {
        let outcome = runner.step(line);
        report.checks += 1;
        let Err(difference) = outcome else {
            continue;
        };
        if updating()
            && let Some(seen) = &difference.seen
            && let Some(old) = rewritten.get_mut(line.number - 1)
            && let Some((command, _)) = old.rsplit_once(" -> ")
        {
            *old = format!("{command} -> {seen}");
            changed = true;
            continue;
        }
        report.failures.push(format!(
            "{}:{} [{}] {}\n    {}",
            path.display(),
            line.number,
            runner.case(),
            line.text.trim(),
            difference.text
        ));
    }
    report.cases += runner.cases();
    if changed {
        fs::write(path, rewritten.join("\n") + "\n").expect("the spec file can be written");
    }
}

fn updating() -> bool {
    std::env::var("UPDATE").is_ok_and(|value| value == "1")
}

/// The folder `spec/` of the repository the test runs in. Asked at run time: what was compiled in one clone may run
/// in another.
#[must_use]
pub fn spec_root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .or_else(|| std::env::current_dir().ok())
        .expect("a test runs in some folder");
    let root = here
        .ancestors()
        .find(|folder| folder.join("spec/README.md").is_file());
    match root {
        Some(root) => root.join("spec"),
        None => panic!("there is no `spec/` above {}", here.display()),
    }
}

fn files(folder: &str) -> Vec<PathBuf> {
    let root = spec_root().join(folder);
    let entries = fs::read_dir(&root)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", root.display()));
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "spec"))
        .collect();
    files.sort();
    files
}

/// What was not as expected.
pub(crate) struct Difference {
    /// For the reader.
    text: String,
    /// What the line should say to be right; none if it cannot be said on the line.
    seen: Option<String>,
}

impl Difference {
    fn new(text: impl Into<String>) -> Difference {
        Difference {
            text: text.into(),
            seen: None,
        }
    }
}

/// What a line says after its arrow.
pub(crate) fn expected(line: &Line) -> Result<Expected, Difference> {
    Expected::parse(&line.expected).map_err(Difference::new)
}
