//! A closed-loop load generator: reads and durable writes, next to a bare HTTP server and a real mongod.
//!
//! Knows the wire and nothing of the server's inside; checks every answer, and stops at the first wrong one.

use std::process::ExitCode;

use anyhow::Result;

mod args;
mod bare;
mod client;
mod disk;
mod item;
mod load;
mod mongo;
mod process;
mod report;
mod run;
mod sign;
mod target;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match args::parse(&words) {
        Ok(args::Command::Bare) => finish(bare::serve()),
        Ok(args::Command::Run(options)) => finish(run::run(&options)),
        Ok(args::Command::Help) => {
            println!("{}", args::USAGE);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}\n\n{}", args::USAGE);
            ExitCode::from(2)
        }
    }
}

fn finish(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
