//! LapseDB: the server. Reads the configuration, opens the store, listens.

mod admin;
mod allocator;
mod boot;
mod config;
mod cors;
mod descriptors;
mod folder;
mod health;
mod http;
mod init;
mod listen;
mod memory;
mod metrics;
mod mongo;
mod origin;
mod reply;
mod route;
mod shutdown;
mod slots;
mod socket;
mod telemetry;
mod tls;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use config::{Command, Config};
use lapsedb_service::EVALUATIONS_MAX;

/// Threads besides those of long evaluations, which must not take the last one: the ones that serve connections, and those that wait
/// for the disk.
const OTHER_THREADS_MAX: usize = 512;
/// Something failed that is neither of the following.
const EXIT_FAILED: u8 = 1;
/// An unknown flag or a value that is not allowed.
const EXIT_CONFIG: u8 = 2;
/// Another process has the store.
const EXIT_IN_USE: u8 = 3;

fn main() -> ExitCode {
    allocator::set_up();
    folder::keep_to_owner();
    let config = match Config::load(std::env::args_os(), |name| std::env::var(name).ok()) {
        Ok(Command::Serve(config)) => config,
        Ok(Command::Verify(asked)) => return verify::run(&asked),
        Ok(Command::Print(text)) => {
            // Whoever closed the pipe has read enough.
            let _ = std::io::stdout().write_all(text.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(line) => return refuse(EXIT_CONFIG, &line),
    };
    telemetry::start(&config);
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(EVALUATIONS_MAX + OTHER_THREADS_MAX)
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return refuse(EXIT_FAILED, &format!("cannot start threads: {error}")),
    };
    let ended = runtime.block_on(boot::run(*config));
    // Waits for all threads and drops what they still held of the store, which closes it here: RocksDB must be closed before this
    // function returns, because then the process takes its global state down.
    drop(runtime);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

/// Ends with the code of a failure.
fn fail(failure: &boot::Failure) -> ExitCode {
    match failure {
        boot::Failure::InUse(line) => refuse(EXIT_IN_USE, line),
        boot::Failure::Other(line) => refuse(EXIT_FAILED, line),
    }
}

/// Says in one line why there is no server.
fn refuse(code: u8, line: &str) -> ExitCode {
    let _ = writeln!(
        std::io::stderr(),
        "lapsedb: {}",
        line.replace(['\r', '\n'], " ")
    );
    ExitCode::from(code)
}
