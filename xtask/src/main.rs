//! The house's own chores: `cargo run -p xtask -- tidy` and `cargo run -p xtask -- gen`.
//!
//! Depends on nothing outside the standard library. `tidy` never changes a file; `gen` has the crates write their pages.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

mod tidy;

const USAGE: &str = "usage: cargo run -p xtask -- tidy   checks the house rules
       cargo run -p xtask -- gen    writes the generated pages under docs/support";

/// Crates with a test that compares a page with what the crate knows, and writes it when it is told to.
const PAGES: [&str; 3] = ["lapsedb-door-mongo", "lapsedb-sql", "lapsedb-mql"];
/// The name of that test, in each of them.
const PAGE_TEST: &str = "support_page_is_true";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["tidy"] => run_tidy(),
        ["gen"] => run_gen(),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run_gen() -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    for package in PAGES {
        let status = Command::new(&cargo)
            .args(["test", "--release", "--quiet", "--package", package])
            .args(["--tests", PAGE_TEST])
            .env("UPDATE", "1")
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_) | Err(_) => {
                eprintln!("gen: the page of {package} could not be written");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn run_tidy() -> ExitCode {
    // Asked at run time: what was compiled in one clone may run in another. Cargo sets the
    // variable to this package's folder, one below the root; without cargo, this is started in the root.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = package
        .as_deref()
        .and_then(Path::parent)
        .unwrap_or(Path::new("."));
    match tidy::check(root) {
        Ok(report) if report.complaints.is_empty() => {
            println!("tidy: {} files, all in order", report.files);
            ExitCode::SUCCESS
        }
        Ok(report) => {
            for complaint in &report.complaints {
                eprintln!("{complaint}");
            }
            eprintln!("tidy: {} complaints", report.complaints.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tidy: cannot read the tree: {error}");
            ExitCode::from(2)
        }
    }
}
