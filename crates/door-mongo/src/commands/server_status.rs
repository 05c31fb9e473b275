//! Tells how the server fares.

use std::sync::atomic::Ordering;

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::{build_info, hello};

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let door = call.door;
    let number = |n: u64| Value::Int64(i64::try_from(n).unwrap_or(i64::MAX));
    let up = door.started.elapsed();
    let open = door.connections.open.load(Ordering::Relaxed);
    let mut connections = Object::with_capacity(3);
    connections.push("current", number(open));
    connections.push("available", number(8192u64.saturating_sub(open)));
    connections.push(
        "totalCreated",
        number(door.connections.made.load(Ordering::Relaxed)),
    );
    let mut reply = Object::with_capacity(20);
    reply.push("host", hello::host(call));
    reply.push("version", build_info::VERSION);
    reply.push("process", "lapsedb");
    reply.push("pid", number(u64::from(std::process::id())));
    reply.push("uptime", Value::Double(up.as_secs_f64()));
    reply.push(
        "uptimeMillis",
        number(u64::try_from(up.as_millis()).unwrap_or(u64::MAX)),
    );
    reply.push("localTime", hello::now(call));
    reply.push("connections", Value::Object(connections));
    for name in ["network", "opcounters", "mem", "asserts", "globalLock"] {
        reply.push(name, Value::Object(Object::new()));
    }
    let gauges = door.service.gauges().await?;
    let mut ttl = Object::with_capacity(2);
    ttl.push("deletedDocuments", number(gauges.purged_items));
    ttl.push("passes", number(up.as_secs()));
    let mut cursors = Object::with_capacity(1);
    cursors.push(
        "total",
        number(u64::try_from(door.service.documents_state().open_cursors()).unwrap_or(0)),
    );
    let mut open_cursors = Object::with_capacity(1);
    open_cursors.push("open", Value::Object(cursors));
    let mut metrics = Object::with_capacity(2);
    metrics.push("ttl", Value::Object(ttl));
    metrics.push("cursor", Value::Object(open_cursors));
    reply.push("metrics", Value::Object(metrics));
    let mut engine = Object::with_capacity(3);
    engine.push("name", "lapsedb");
    engine.push("supportsCommittedReads", true);
    engine.push("persistent", true);
    reply.push("storageEngine", Value::Object(engine));
    let mut repl = Object::with_capacity(2);
    repl.push("setName", hello::set_name(call));
    repl.push("isWritablePrimary", true);
    reply.push("repl", Value::Object(repl));
    Ok(Answer::Plain(reply))
}
