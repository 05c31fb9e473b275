//! The house's own chores: `cargo run -p xtask -- tidy`.
//!
//! Depends on nothing outside the standard library, and never changes a file.

use std::path::Path;
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
    // Cargo sets the variable at compile time to this package's folder, one below the root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
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
