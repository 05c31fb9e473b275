//! The server as a process: started, watched until it is ready, killed with the value that holds it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Client, Request};
use crate::container::Container;
use crate::limit::TimeLimit;
use crate::sign::EMULATOR_KEY;

/// A server that is not ready by then never will be.
const READY_SECONDS_MAX: u64 = 120;
/// How much of a failed server's log is shown.
const LOG_BYTES_MAX: usize = 4000;

/// Where the data of a server under test lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Nothing on disk.
    Memory,
    /// A folder of its own, removed with the test.
    Disk,
}

impl Engine {
    /// Both: a case holds on each.
    pub const ALL: [Engine; 2] = [Engine::Memory, Engine::Disk];
}

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where its data lives.
    pub engine: Engine,
    /// Whether time is moved by hand.
    pub virtual_clock: bool,
    /// Further flags.
    pub flags: Vec<String>,
}

impl Options {
    /// A server whose clock stands still until it is moved.
    #[must_use]
    pub fn new(engine: Engine) -> Options {
        Options {
            engine,
            virtual_clock: true,
            flags: Vec::new(),
        }
    }

    /// The same with one more flag.
    #[must_use]
    pub fn flag(mut self, flag: &str) -> Options {
        self.flags.push(flag.to_owned());
        self
    }
}

/// A running server.
pub struct Server {
    options: Options,
    folder: TempDir,
    child: Option<Child>,
    address: String,
    mongo: Option<String>,
    limit: TimeLimit,
}

impl Server {
    /// Starts one and waits until it is ready. A test that keeps it beyond the time limit of a test is ended, and the server too.
    #[must_use]
    pub fn start(options: &Options) -> Server {
        let folder = tempfile::Builder::new()
            .prefix("lapsedb-test-")
            .tempdir()
            .expect("a folder for the server's data");
        let mut server = Server {
            options: options.clone(),
            folder,
            child: None,
            address: String::new(),
            mongo: None,
            limit: TimeLimit::start(),
        };
        server.launch();
        server
    }

    /// A server with the virtual clock and nothing special.
    #[must_use]
    pub fn plain(engine: Engine) -> Server {
        Server::start(&Options::new(engine))
    }

    /// Where it listens: `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Where its Mongo door listens, if it was started with `--mongo-port 0`.
    #[must_use]
    pub fn mongo_address(&self) -> Option<&str> {
        self.mongo.as_deref()
    }

    /// A new connection.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(&self.address, EMULATOR_KEY)
    }

    /// Ends the process as a power cut would: no signal it could handle.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _gone = child.kill();
            let _status = child.wait();
            self.limit.set_child(None);
        }
    }

    /// Asks the process to stop, and says how it ended.
    pub fn stop(&mut self) -> Option<i32> {
        let mut child = self.child.take()?;
        let asked = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status();
        if asked.is_err() {
            let _gone = child.kill();
        }
        let status = child.wait().ok();
        self.limit.set_child(None);
        status.and_then(|status| status.code())
    }

    /// Starts it again on the same data, after [`kill`](Self::kill) or [`stop`](Self::stop).
    pub fn restart(&mut self) {
        self.kill();
        self.launch();
    }

    /// Whether the process is still there.
    pub fn is_running(&mut self) -> bool {
        match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => false,
        }
    }

    /// Bytes of memory that the process has had at most, as the kernel tells; none where it does not.
    #[must_use]
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        let id = self.child.as_ref()?.id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// A figure of its metrics page that has no labels.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<u64> {
        let page = self.client().send(Request::bare("GET", "/metrics")).ok()?;
        let text = String::from_utf8(page.body).ok()?;
        let value = |line: &str| line.strip_prefix(name)?.trim().parse().ok();
        text.lines().find_map(value)
    }

    /// The end of what it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        tail(&self.folder.path().join("log"))
    }

    fn launch(&mut self) {
        let log = self.folder.path().join("log");
        let errors = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .expect("a log file");
        let mut command = Command::new(binary());
        command.args(["--port", "0"]);
        if !self.options.flags.iter().any(|flag| flag == "--mongo-port") {
            command.args(["--mongo-port", "off"]);
        }
        match self.options.engine {
            Engine::Memory => command.arg("--memory"),
            Engine::Disk => command
                .arg("--data-path")
                .arg(self.folder.path().join("data")),
        };
        if self.options.virtual_clock {
            command.arg("--virtual-clock");
        }
        let child = command
            .args(&self.options.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn();
        let mut child = child.unwrap_or_else(|error| {
            panic!("cannot start {}: {error}", binary().display());
        });
        let output = child.stdout.take().expect("its standard output is a pipe");
        // From here on the child is ended even if it never gets ready.
        self.limit.set_child(Some(child.id()));
        self.child = Some(child);
        match wait_ready(output) {
            Some((address, mongo)) => (self.address, self.mongo) = (address, mongo),
            None => panic!(
                "the server printed no ready line; its log ends:\n{}",
                tail(&log)
            ),
        }
    }

    /// The server's time in milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.clock(None)
    }

    /// Moves the virtual clock, and says where it stands.
    pub fn advance_ms(&self, ms: u64) -> u64 {
        self.clock(Some(json!({ "advanceMillis": ms })))
    }

    /// Moves the virtual clock to a time, and says where it stands.
    pub fn set_ms(&self, ms: u64) -> u64 {
        let now = self.now_ms();
        assert!(ms >= now, "the clock cannot go back from {now} to {ms}");
        self.advance_ms(ms - now)
    }

    fn clock(&self, body: Option<Value>) -> u64 {
        let mut client = self.client();
        let request = match &body {
            Some(body) => client.request("POST", "/_lapsedb/clock").json(body),
            None => client.request("GET", "/_lapsedb/clock"),
        };
        let reply = client.must(request.bearer(EMULATOR_KEY));
        assert_eq!(reply.status, 200, "the clock: {reply:?}");
        reply.json()["nowMillis"].as_u64().expect("nowMillis")
    }

    /// Creates a database.
    pub fn database(&self, id: &str) {
        let mut client = self.client();
        let request = client.request("POST", "/dbs").json(&json!({ "id": id }));
        let reply = client.must(request);
        assert_eq!(reply.status, 201, "create database {id}: {reply:?}");
    }

    /// Creates a container in a database; `more` are members of its definition besides id and partition key.
    #[must_use]
    pub fn container(
        &self,
        database: &str,
        id: &str,
        partition_key: &str,
        more: &Value,
    ) -> Container {
        let mut body = json!({
            "id": id,
            "partitionKey": { "paths": [partition_key], "kind": "Hash", "version": 2 },
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        let mut client = self.client();
        let request = client
            .request("POST", &format!("/dbs/{database}/colls"))
            .json(&body);
        let reply = client.must(request);
        assert_eq!(reply.status, 201, "create container {id}: {reply:?}");
        Container::new(client, database, id, partition_key)
    }

    /// A container that exists already, seen through a new connection.
    #[must_use]
    pub fn existing(&self, database: &str, id: &str, partition_key: &str) -> Container {
        Container::new(self.client(), database, id, partition_key)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The program under test: `LAPSEDB_BIN`, or what cargo has built beside this test. Asked at run time: the test may have been compiled
/// in another clone.
#[must_use]
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("LAPSEDB_BIN") {
        return PathBuf::from(path);
    }
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test
        .ancestors()
        .find(|folder| folder.join("lapsedb").is_file());
    match folder {
        Some(folder) => folder.join("lapsedb"),
        None => panic!(
            "there is no `lapsedb` above {}: build it with `cargo build --release -p lapsedb-server`, or name it in LAPSEDB_BIN",
            test.display()
        ),
    }
}

/// The addresses in the line `ready nosql=HOST:PORT mongo=HOST:PORT`. The pipe is read to its end, so that the server never blocks on it.
fn wait_ready(output: ChildStdout) -> Option<(String, Option<String>)> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(output);
        let mut line = String::new();
        while matches!(lines.read_line(&mut line), Ok(length) if length > 0) {
            if let Some(address) = ready_address(&line) {
                let _unheard = sender.send(address);
            }
            line.clear();
        }
    });
    receiver
        .recv_timeout(Duration::from_secs(READY_SECONDS_MAX))
        .ok()
}

fn ready_address(line: &str) -> Option<(String, Option<String>)> {
    let mut words = line.split_whitespace();
    if words.next() != Some("ready") {
        return None;
    }
    let doors: Vec<_> = words.filter_map(|word| word.split_once('=')).collect();
    let door = |name: &str| doors.iter().find(|(door, _)| *door == name);
    let address = door("nosql").map(|(_, address)| (*address).to_owned())?;
    let mongo = door("mongo").filter(|(_, address)| *address != "off");
    Some((address, mongo.map(|(_, address)| (*address).to_owned())))
}

fn tail(log: &Path) -> String {
    let mut text = Vec::new();
    if let Ok(mut file) = File::open(log) {
        let _read = file.read_to_end(&mut text);
    }
    let from = text.len().saturating_sub(LOG_BYTES_MAX);
    String::from_utf8_lossy(&text[from..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_line_gives_the_address() {
        assert_eq!(
            ready_address("ready nosql=127.0.0.1:8081 mongo=off\n"),
            Some(("127.0.0.1:8081".to_owned(), None))
        );
        assert_eq!(
            ready_address("ready nosql=a:1 mongo=b:2\n"),
            Some(("a:1".to_owned(), Some("b:2".to_owned())))
        );
        assert_eq!(ready_address("getting ready nosql=x"), None);
    }
}
