//! What is under way, and what was done: a line for every connection, the command it waits for, and counts of the past.
//!
//! A line is its connection's own, so that who begins a command waits for nobody; only who lists the lines looks at all.

mod index_uses;
mod kinds;
mod profiler;
mod uses;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Instant;

use lapsedb_record::Clock;
use lapsedb_value::{Object, Str, Value, bson};
use parking_lot::Mutex;

pub(crate) use index_uses::{IndexUses, ON_ID};
pub use kinds::{Kind, collection_of};
pub use profiler::{Forgotten, Level, PROFILE_COLLECTION, Profiled, Profiler, Queued, Slow};
pub use uses::{Use, Uses};

/// Bytes of a command that are kept to be shown; of a longer one its beginning.
pub const SHOWN_BYTES_MAX: usize = 1024;

/// Ways to find documents that are kept of one command.
const PLANS_MAX: usize = 8;

/// Everything that is under way or was done through lines.
#[derive(Default)]
pub struct Operations {
    next: AtomicI32,
    lines: Mutex<BTreeMap<i32, Arc<Line>>>,
    counts: [AtomicU64; Kind::ALL.len()],
    /// What was done to each collection.
    pub uses: Uses,
    /// How often each index was chosen.
    pub(crate) index_uses: IndexUses,
    /// Bytes of what was asked and answered, and how many were asked.
    pub traffic: Traffic,
    /// Which commands are recorded.
    pub profiler: Profiler,
}

/// What has gone over the wire.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Bytes that came.
    pub came: AtomicU64,
    /// Bytes that went.
    pub went: AtomicU64,
    /// Messages that came.
    pub requests: AtomicU64,
}

/// One connection.
pub struct Line {
    number: i32,
    client: String,
    /// Set when the command under way is to end.
    halt: Arc<AtomicBool>,
    state: Mutex<State>,
    /// How the command finds its documents, while commands are recorded.
    found: Mutex<Found>,
}

/// How a command has found documents.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Entries of indexes that were looked at.
    pub keys: u64,
    /// Documents that were looked at, where they are counted.
    pub documents: Option<u64>,
    /// The ways that were taken.
    pub plans: Vec<String>,
}

/// What a connection does.
#[derive(Default)]
struct State {
    /// The number of the command under way.
    operation: Option<i32>,
    since: Option<Instant>,
    command: Box<[u8]>,
    owner: Option<Arc<str>>,
    app_name: Option<String>,
}

/// Which operations are listed.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Only those of this login, where logins matter.
    pub owner: Option<&'a str>,
    /// Also connections that wait for their client.
    pub idle: bool,
}

impl Operations {
    /// A connection has come.
    pub fn open(&self, number: i32, client: String) -> Arc<Line> {
        let line = Arc::new(Line {
            number,
            client,
            halt: Arc::default(),
            state: Mutex::default(),
            found: Mutex::default(),
        });
        self.lines.lock().insert(number, Arc::clone(&line));
        line
    }

    /// A connection has gone.
    pub fn close(&self, line: &Line) {
        self.lines.lock().remove(&line.number);
    }

    /// A command begins; its bytes are shown to who asks what is under way.
    pub fn begin(&self, line: &Line, command: Box<[u8]>, owner: Option<Arc<str>>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed) & i32::MAX;
        if self.profiler.is_on() {
            *line.found.lock() = Found::default();
        }
        let mut state = line.state.lock();
        line.halt.store(false, Ordering::Relaxed);
        state.operation = Some(number);
        state.since = Some(Clock::monotonic());
        state.command = command;
        state.owner = owner;
    }

    /// Something of a kind was done so many times.
    pub fn count(&self, kind: Kind, times: u64) {
        self.counts[kind as usize].fetch_add(times, Ordering::Relaxed);
    }

    /// How many things of each kind were done.
    pub fn counted(&self) -> impl Iterator<Item = (Kind, u64)> {
        let count = |kind: Kind| self.counts[kind as usize].load(Ordering::Relaxed);
        Kind::ALL.into_iter().map(move |kind| (kind, count(kind)))
    }

    /// How many commands are under way.
    pub fn running(&self) -> usize {
        let lines = self.lines.lock();
        let running = |line: &&Arc<Line>| line.state.lock().operation.is_some();
        lines.values().filter(running).count()
    }

    /// Ends a command as soon as it looks up; nothing happens if it is no longer under way.
    pub fn halt(&self, operation: i32) {
        for line in self.lines.lock().values() {
            let state = line.state.lock();
            if state.operation == Some(operation) {
                // Under the lock: the next command of this connection is not meant.
                line.halt.store(true, Ordering::Relaxed);
            }
        }
    }

    /// What is under way, in the order in which connections came.
    pub fn list(&self, host: &str, now: &str, wanted: Wanted<'_>) -> Vec<Object> {
        let lines = self.lines.lock();
        let listed = lines.values().filter_map(|line| {
            let state = line.state.lock();
            let listed = (state.operation.is_some() || wanted.idle) && seen(&state, wanted.owner);
            listed.then(|| line.described(&state, host, now))
        });
        listed.collect()
    }
}

fn seen(state: &State, owner: Option<&str>) -> bool {
    owner.is_none() || state.owner.as_deref() == owner
}

impl Line {
    /// The command under way has ended.
    pub fn end(&self) {
        let mut state = self.state.lock();
        state.operation = None;
        state.since = None;
        state.command = Box::default();
    }

    /// What the client's program calls itself.
    pub fn call(&self, app_name: Option<String>) {
        self.state.lock().app_name = app_name;
    }

    /// The command that is running, as far as it is shown.
    pub(crate) fn command(&self) -> Box<[u8]> {
        self.state.lock().command.clone()
    }

    /// The command that is running, as far as it is shown.
    #[must_use]
    pub fn shown_command(&self) -> Object {
        // What was kept was read before, so that it can be read.
        bson::read_document(&self.command()).unwrap_or_default()
    }

    /// How the command that is running has found documents.
    #[must_use]
    pub fn found(&self) -> Found {
        self.found.lock().clone()
    }

    /// The command has looked at so many entries and documents.
    pub(crate) fn examined(&self, keys: u64, documents: u64) {
        let mut found = self.found.lock();
        found.keys += keys;
        found.documents = Some(found.documents.unwrap_or_default() + documents);
    }

    /// The command finds documents in this way, for which it has looked at so many entries already.
    pub(crate) fn planned(&self, plan: String, keys: u64) {
        let mut found = self.found.lock();
        found.keys += keys;
        if found.plans.len() < PLANS_MAX && !found.plans.contains(&plan) {
            found.plans.push(plan);
        }
    }

    /// Says when the command under way is to end.
    #[must_use]
    pub fn halted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.halt)
    }

    fn described(&self, state: &State, host: &str, now: &str) -> Object {
        // What was kept was read before, so that it can be read.
        let mut command = bson::read_document(&state.command).unwrap_or_default();
        let mut object = Object::with_capacity(20);
        object.push("type", "op");
        object.push("host", host);
        object.push("desc", format!("conn{}", self.number));
        object.push("connectionId", self.number);
        object.push("client", self.client.as_str());
        if let Some(name) = &state.app_name {
            object.push("appName", name.as_str());
        }
        object.push("active", state.operation.is_some());
        object.push("currentOpTime", now);
        if let Some(owner) = &state.owner {
            object.push("effectiveUsers", Value::Array(vec![user(owner)]));
        }
        if let (Some(number), Some(since)) = (state.operation, state.since) {
            let ran = since.elapsed();
            object.push("opid", number);
            object.push("secs_running", long(ran.as_secs().into()));
            object.push("microsecs_running", long(ran.as_micros()));
        }
        if let Some(session) = command.get("lsid") {
            object.push("lsid", session.clone());
        }
        object.push("op", Kind::of_command(&command).op());
        object.push("ns", namespace_of(&command));
        for name in ["$clusterTime", "lsid"] {
            command.remove(name);
        }
        object.push("command", Value::Object(command));
        object.push("numYields", 0);
        object.push("locks", Value::Object(Object::new()));
        object.push("waitingForLock", false);
        object.push("lockStats", Value::Object(Object::new()));
        object
    }
}

/// A login, as users are named in what is under way.
fn user(owner: &str) -> Value {
    let (database, name) = owner.split_once('.').unwrap_or(("", owner));
    let mut user = Object::with_capacity(2);
    user.push("user", name);
    user.push("db", database);
    Value::Object(user)
}

fn long(number: u128) -> Value {
    Value::Int64(i64::try_from(number).unwrap_or(i64::MAX))
}

/// What a command is about.
fn namespace_of(command: &Object) -> String {
    let database = command
        .get("$db")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match collection_of(command) {
        Some(name) => format!("{database}.{name}"),
        None if database.is_empty() => String::new(),
        None => format!("{database}.$cmd"),
    }
}

/// Commands that may hold what nobody else is to see.
const SECRET: [&str; 5] = [
    "authenticate",
    "createUser",
    "saslContinue",
    "saslStart",
    "updateUser",
];

/// The bytes of a command that are kept to be shown.
#[must_use]
pub fn shown(bytes: &[u8], command: &Object) -> Box<[u8]> {
    let name = command.keys().next().map(Str::as_str).unwrap_or_default();
    let secret = SECRET.contains(&name) || command.contains_key("speculativeAuthenticate");
    if bytes.len() <= SHOWN_BYTES_MAX && !secret {
        return bytes.into();
    }
    let mut short = Object::with_capacity(3);
    let short_enough = |value: &Value| match value {
        Value::String(text) => text.len() <= SHOWN_BYTES_MAX / 4,
        value => value.is_number(),
    };
    for name in [name, "$db", "collection"] {
        match command.get(name) {
            Some(value) if short_enough(value) => short.push(name, value.clone()),
            Some(_) | None => {}
        }
    }
    short.push(if secret { "$redacted" } else { "$truncated" }, true);
    let mut out = Vec::with_capacity(256);
    bson::write_document(&short, &mut out);
    out.into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
