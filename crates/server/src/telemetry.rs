//! The log: standard error, text or JSON. Nothing is ever sent anywhere.

use std::io::IsTerminal;

use crate::config::Config;

/// Starts logging; what is logged before is lost.
pub fn start(config: &Config) {
    let log = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(config.log_level)
        .with_target(false);
    // A second start keeps the first log: only tests do that.
    let _ = if config.log_json {
        log.json().flatten_event(true).try_init()
    } else {
        log.with_ansi(std::io::stderr().is_terminal()).try_init()
    };
}
