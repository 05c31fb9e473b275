//! Records of commands for the database profiler: made when a command is answered, written by a task of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use lapsedb_service::documents::{self, Fault, Work};
use lapsedb_service::operations::{Found, Kind, Level, PROFILE_COLLECTION, Queued, collection_of};
use lapsedb_service::{Ctx, Service, Who};
use lapsedb_value::{Object, Value, bson};
use tokio::sync::mpsc;

use crate::auth::Login;
use crate::codes;
use crate::connection::Connection;
use crate::door::Door;
use crate::request::Request;
use crate::wire::REPLY_ROOM;

/// Records that are written at once.
const WRITTEN_MAX: usize = 100;
/// Commands on no collection that are recorded all the same.
const OF_DATABASES: [&str; 4] = ["dbStats", "dropDatabase", "listCollections", "validate"];

/// A command that was answered.
pub(crate) struct Done<'a> {
    pub(crate) command: &'static str,
    pub(crate) kind: Kind,
    pub(crate) database: &'a str,
    pub(crate) collection: Option<&'a str>,
    /// The reply, with room before it.
    pub(crate) reply: &'a [u8],
    pub(crate) took: Duration,
}

/// Records a command, if its database is profiled.
pub(crate) fn record(door: &Door, connection: &Connection, done: &Done<'_>) {
    let profiler = &door.service.documents_state().operations.profiler;
    let recorded = done.collection.is_some() || OF_DATABASES.contains(&done.command);
    if recorded && profiler.may_record(done.database, done.took) {
        profiler.record(done.database, described(door, connection, done));
    }
}

fn described(door: &Door, connection: &Connection, done: &Done<'_>) -> Object {
    let long = |number: u64| Value::Int64(i64::try_from(number).unwrap_or(i64::MAX));
    let mut record = Object::with_capacity(24);
    record.push("op", done.kind.op());
    record.push(
        "ns",
        match done.collection {
            Some(collection) => format!("{}.{collection}", done.database),
            None => done.database.to_owned(),
        },
    );
    record.push("command", Value::Object(connection.line.shown_command()));
    let Found {
        keys,
        documents,
        plans,
    } = connection.line.found();
    if let Some(documents) = documents {
        record.push("keysExamined", long(keys));
        record.push("docsExamined", long(documents));
    }
    let body = done.reply.get(REPLY_ROOM..).unwrap_or_default();
    let reply = bson::read_document(body).unwrap_or_default();
    add_outcome(&mut record, done, &reply);
    record.push("numYield", 0);
    record.push("locks", Value::Object(Object::new()));
    record.push("flowControl", Value::Object(Object::new()));
    let bytes = i32::try_from(done.reply.len()).unwrap_or(i32::MAX);
    record.push("responseLength", bytes);
    record.push("protocol", "op_msg");
    let milliseconds = i32::try_from(done.took.as_millis()).unwrap_or(i32::MAX);
    record.push("millis", milliseconds);
    if !plans.is_empty() {
        record.push("planSummary", plans.join(", "));
    }
    let now = door.service.clock().now();
    record.push("ts", Value::Date(i64::try_from(now.0).unwrap_or(i64::MAX)));
    record.push("client", connection.peer.client.ip().to_string());
    if let Some(name) = &connection.app_name {
        record.push("appName", name.as_str());
    }
    let login = connection.login.as_ref();
    record.push(
        "allUsers",
        Value::Array(login.map(shown_user).into_iter().collect()),
    );
    let user = login.map(|login| format!("{}@{}", login.user, login.database));
    record.push("user", user.unwrap_or_default());
    record
}

/// What a reply says of what was done.
fn add_outcome(record: &mut Object, done: &Done<'_>, reply: &Object) {
    if reply.get("ok").and_then(Value::as_f64) != Some(1.0) {
        record.push("ok", Value::Double(0.0));
        for (member, name) in [
            ("errmsg", "errMsg"),
            ("codeName", "errName"),
            ("code", "errCode"),
        ] {
            if let Some(value) = reply.get(member) {
                record.push(name, value.clone());
            }
        }
        return;
    }
    if let Some(cursor) = reply.get("cursor") {
        let batch = ["firstBatch", "nextBatch"]
            .iter()
            .find_map(|name| cursor.get(name).as_array());
        match cursor.get("id").as_i64() {
            Some(0) | None => record.push("cursorExhausted", true),
            Some(id) => record.push("cursorid", Value::Int64(id)),
        }
        let returned = batch.map_or(0, <[Value]>::len);
        record.push("nreturned", i32::try_from(returned).unwrap_or(i32::MAX));
    }
    let counted = match done.command {
        "insert" => &[("n", "ninserted")][..],
        "delete" => &[("n", "ndeleted")],
        "update" => &[("n", "nMatched"), ("nModified", "nModified")],
        _ => &[],
    };
    for (member, name) in counted {
        if let Some(value) = reply.get(member) {
            record.push(*name, value.clone());
        }
    }
}

fn shown_user(login: &Login) -> Value {
    let mut user = Object::with_capacity(2);
    user.push("user", login.user.as_str());
    user.push("db", login.database.as_str());
    Value::Object(user)
}

/// Makes the collection that a database's commands are recorded in, and begins to write what is recorded.
pub(crate) async fn begin(service: &Arc<Service>, database: &str) -> Result<(), Fault> {
    documents::make_profile(&own(service), database).await?;
    let profiler = &service.documents_state().operations.profiler;
    if let Some(queue) = profiler.writing() {
        tokio::spawn(write_all(Arc::downgrade(service), queue));
    }
    Ok(())
}

/// The context of what the server itself does.
fn own(service: &Arc<Service>) -> Ctx {
    Ctx::new(Arc::clone(service), Who::Master)
}

/// Writes what is recorded, until the service is gone.
async fn write_all(service: Weak<Service>, mut queue: mpsc::Receiver<Queued>) {
    let mut queued = Vec::with_capacity(WRITTEN_MAX);
    while queue.recv_many(&mut queued, WRITTEN_MAX).await > 0 {
        let Some(service) = service.upgrade() else {
            return;
        };
        let mut records: BTreeMap<String, Vec<Object>> = BTreeMap::new();
        for one in queued.drain(..) {
            match one {
                Queued::Record(database, record) => {
                    records.entry(database).or_default().push(record);
                }
                Queued::Flush(waiting) => {
                    write(&service, std::mem::take(&mut records)).await;
                    // Who has gone need not hear of it.
                    let _ = waiting.send(());
                }
            }
        }
        write(&service, records).await;
    }
}

async fn write(service: &Arc<Service>, records: BTreeMap<String, Vec<Object>>) {
    for (database, records) in records {
        if let Err(fault) = write_one(service, &database, records).await {
            tracing::warn!(database, ?fault, "records of the profiler are lost");
        }
    }
}

/// Writes the records of one database, unless it is not profiled any more.
async fn write_one(
    service: &Arc<Service>,
    database: &str,
    records: Vec<Object>,
) -> Result<(), Fault> {
    let profiler = &service.documents_state().operations.profiler;
    let is_off = profiler.settings(database).0.level == Level::Off;
    if is_off && !documents::has_profile(&own(service), database).await? {
        return Ok(());
    }
    documents::record_profile(&mut Work::new(own(service)), database, records).await
}

/// Drops a database: nothing that was recorded before may make it anew. Its commands are recorded no more, if it is dropped.
pub(crate) async fn drop_with<T>(
    door: &Door,
    database: &str,
    dropping: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let profiler = &door.service.documents_state().operations.profiler;
    if !profiler.is_on() {
        return dropping.await;
    }
    let mut forgotten = profiler.forget(database);
    profiler.flush().await;
    let dropped = dropping.await?;
    forgotten.keep_so();
    Ok(dropped)
}

/// Refuses to drop the records while there may come more, and waits until those who read them see all that was recorded before.
pub(crate) async fn admit(door: &Door, request: &Request) -> Result<(), Fault> {
    let database = &request.database;
    let profiler = &door.service.documents_state().operations.profiler;
    let command = request.command.name;
    if collection_of(&request.body) != Some(PROFILE_COLLECTION) {
        return Ok(());
    }
    if command == "drop" && profiler.settings(database).0.level != Level::Off {
        return Err(Fault::new(
            codes::ILLEGAL_OPERATION,
            "turn off profiling before dropping system.profile collection",
        ));
    }
    profiler.flush().await;
    Ok(())
}
