//! The house's own chores: `cargo run -p xtask -- tidy`.
//!
//! Depends on nothing outside the standard library, and never changes a file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod tidy;

const USAGE: &str = "usage: cargo run -p xtask -- tidy   checks the house rules";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["tidy"] => run_tidy(),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run_tidy() -> ExitCode {
    // Asked at run time: clones share a target folder, and what was compiled in one may run in another. Cargo sets the
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
