//! What is noted of a command, for those who ask what is under way and what was done.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lapsedb_service::operations::{Kind, Line, Operations, collection_of};
use lapsedb_value::{Str, Value};

use crate::auth::Login;
use crate::connection::Connection;
use crate::door::Door;
use crate::profiling::{self, Done};
use crate::wire::{Incoming, Message, OpMsg};

/// A command under way, until it is dropped.
pub(crate) struct Noted<'d> {
    operations: &'d Operations,
    line: Arc<Line>,
    about: Option<About>,
}

/// What a command is about.
struct About {
    kind: Kind,
    times: u64,
    database: Str,
    collection: Option<Str>,
}

impl<'d> Noted<'d> {
    /// A message has come.
    pub(crate) fn begin(
        door: &'d Door,
        connection: &Connection,
        incoming: &mut Incoming,
    ) -> Noted<'d> {
        let operations = &door.service.documents_state().operations;
        operations.traffic.requests.fetch_add(1, Ordering::Relaxed);
        let about = match &mut incoming.message {
            Message::Msg(msg) => {
                let shown = std::mem::take(&mut msg.shown);
                let login = connection.login.as_ref();
                let owner = login.filter(|_| door.settings.auth).and_then(Login::owner);
                operations.begin(&connection.line, shown, owner);
                Some(About::of(msg))
            }
            // A greeting.
            Message::Query(_) => None,
        };
        Noted {
            operations,
            line: Arc::clone(&connection.line),
            about,
        }
    }

    /// Records it, if its database is profiled.
    pub(crate) fn recorded(
        &self,
        door: &Door,
        connection: &Connection,
        (command, reply): (&'static str, &[u8]),
        took: Duration,
    ) {
        if !self.operations.profiler.is_on() {
            return;
        }
        if let Some(about) = &self.about {
            let done = Done {
                command,
                kind: about.kind,
                database: &about.database,
                collection: about.collection.as_deref(),
                reply,
                took,
            };
            profiling::record(door, connection, &done);
        }
    }

    /// It was answered.
    pub(crate) fn answered(self, command: &str, succeeded: bool, took: Duration) {
        let Some(About {
            kind,
            times,
            database,
            collection,
        }) = &self.about
        else {
            self.operations.count(Kind::Command, 1);
            return;
        };
        self.operations.count(*kind, *times);
        let uses = &self.operations.uses;
        match (command, collection) {
            ("drop", Some(collection)) if succeeded => uses.forget(database, Some(collection)),
            ("dropDatabase", _) if succeeded => uses.forget(database, None),
            (_, Some(collection)) if succeeded => uses.add(database, collection, *kind, took),
            (_, Some(_) | None) => {}
        }
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.line.end();
    }
}

impl About {
    fn of(msg: &OpMsg) -> About {
        let name = msg.body.keys().next().map(Str::as_str).unwrap_or_default();
        let kind = Kind::named(name);
        let statements = match kind {
            Kind::Insert => "documents",
            Kind::Update => "updates",
            Kind::Delete => "deletes",
            Kind::Query | Kind::GetMore | Kind::Command => "",
        };
        let times = if statements.is_empty() {
            1
        } else {
            let inside = msg.body.get(statements).and_then(Value::as_array);
            let beside = msg.sequences.iter().find(|(name, _)| name == statements);
            let beside = beside.map_or(0, |(_, documents)| documents.len());
            inside.map_or(0, <[Value]>::len) + beside
        };
        let text = |text: &str| Str::new(text);
        let database = msg.body.get("$db").and_then(Value::as_str);
        About {
            kind,
            times: u64::try_from(times).unwrap_or(u64::MAX),
            database: text(database.unwrap_or_default()),
            collection: collection_of(&msg.body).map(text),
        }
    }
}
