//! Servers started by a run: waited for, measured, and always ended with it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A server that is not ready by then never will be.
pub const READY_SECONDS_MAX: u64 = 30;
/// Linux counts CPU time for user space in hundredths of a second, whatever the kernel's own tick.
const TICK_MICROS: u64 = 10_000;
/// How much of a failed server's log is shown.
const LOG_BYTES_MAX: usize = 2000;

/// A child process that is killed when this value goes.
pub struct Server {
    child: Child,
    /// Where it listens: `host:port`.
    pub address: String,
}

impl Server {
    /// Starts a program and waits for its ready line, which has the address behind `word`; its standard error goes to
    /// the file `log`.
    pub fn start(command: &mut Command, word: &'static str, log: &Path) -> Result<Self> {
        // From here on the child is ended even if it never gets ready.
        let mut server = Self::launch(command, String::new(), log)?;
        let name = command.get_program().to_string_lossy();
        let output = server.child.stdout.take().context("no standard output")?;
        match wait_ready(output, word) {
            Some(address) => server.address = address,
            None => bail!(
                "{name} printed no ready line (waited up to {READY_SECONDS_MAX} s); its log ends: {}",
                tail(log)
            ),
        }
        Ok(server)
    }

    /// Starts a program that will listen at a known address, and does not wait for it.
    pub fn launch(command: &mut Command, address: String, log: &Path) -> Result<Self> {
        let errors =
            File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn();
        let name = command.get_program().to_string_lossy();
        let child = child.with_context(|| format!("cannot start {name}"))?;
        Ok(Self { child, address })
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The process, for looking at its CPU time.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already; either way it must not stay as a zombie.
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The address behind a word such as `nosql=` in the line `ready nosql=HOST:PORT …`.
fn wait_ready(output: ChildStdout, word: &'static str) -> Option<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(output);
        let mut line = String::new();
        while matches!(lines.read_line(&mut line), Ok(length) if length > 0) {
            if let Some(address) = ready_address(&line, word) {
                let _unheard = sender.send(address);
            }
            line.clear();
        }
    });
    receiver
        .recv_timeout(Duration::from_secs(READY_SECONDS_MAX))
        .ok()
}

fn ready_address(line: &str, wanted: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    if words.next() != Some("ready") {
        return None;
    }
    words
        .find_map(|word| word.strip_prefix(wanted))
        .map(str::to_owned)
}

/// How a log ends.
pub fn tail(log: &Path) -> String {
    let mut text = Vec::new();
    if let Ok(mut file) = File::open(log) {
        let _read = file.read_to_end(&mut text);
    }
    let from = text.len().saturating_sub(LOG_BYTES_MAX);
    String::from_utf8_lossy(&text[from..]).into_owned()
}

/// CPU time a process has used so far, in user and kernel mode.
pub fn cpu_time(process: u32) -> Result<Duration> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let ticks = cpu_ticks(&text).with_context(|| format!("{path} is not as expected"))?;
    Ok(Duration::from_micros(ticks * TICK_MICROS))
}

/// Fields 14 and 15, counted after the name, which may itself hold blanks and brackets.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let kernel: u64 = fields.next()?.parse().ok()?;
    Some(user + kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_an_awkward_name() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 17 25 0 0 20 0 4 0 100 1 2";
        assert_eq!(cpu_ticks(stat), Some(42));
        assert_eq!(cpu_ticks("42 (a) S 1"), None);
    }

    #[test]
    fn the_ready_line_gives_the_address() {
        let line = "ready nosql=127.0.0.1:8081 mongo=127.0.0.1:27017\n";
        let address = |word| ready_address(line, word);
        assert_eq!(address("nosql=").as_deref(), Some("127.0.0.1:8081"));
        assert_eq!(address("mongo=").as_deref(), Some("127.0.0.1:27017"));
        assert_eq!(ready_address("getting ready nosql=x", "nosql="), None);
    }
}
