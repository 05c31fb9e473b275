//! `lapsedb verify`: reads a whole store without serving it, and says what is damaged.

use std::io::Write;
use std::process::ExitCode;

use crate::boot::{Failure, STORE_FOLDER};
use crate::config::Verify;
use crate::{EXIT_FAILED, fail};

/// Prints what was read to standard output and what is damaged to standard error. Ends with 0 if nothing is.
pub fn run(asked: &Verify) -> ExitCode {
    let store = asked.data_path.join(STORE_FOLDER);
    let verified = match lapsedb_service::verify(&store, asked.drop_damaged_log) {
        Ok(verified) => verified,
        Err(error) => return fail(&Failure::from(error)),
    };
    // Whoever closed a pipe has read enough.
    for line in &verified.lines {
        let _ = writeln!(std::io::stdout(), "{line}");
    }
    for line in &verified.damage {
        let _ = writeln!(std::io::stderr(), "lapsedb: damaged: {line}");
    }
    if verified.damage.is_empty() {
        let _ = writeln!(std::io::stdout(), "nothing is damaged");
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_FAILED)
    }
}
