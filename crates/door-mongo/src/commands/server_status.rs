//! Tells how the server fares.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lapsedb_service::documents::Fault;
use lapsedb_service::operations::Operations;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::{build_info, hello};
use crate::machine;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let door = call.door;
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
    let state = door.service.documents_state();
    let compression = door.compression.shown();
    push_operations(&mut reply, &state.operations, compression, up);
    reply.push("mem", Value::Object(memory()));
    let gauges = door.service.gauges().await?;
    let mut ttl = Object::with_capacity(2);
    ttl.push("deletedDocuments", number(gauges.purged_items));
    ttl.push("passes", number(state.ttl_monitor.passes()));
    let mut cursors = Object::with_capacity(1);
    cursors.push(
        "total",
        number(u64::try_from(state.open_cursors()).unwrap_or(0)),
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

fn number(n: u64) -> Value {
    Value::Int64(i64::try_from(n).unwrap_or(i64::MAX))
}

/// What was asked, what went over the wire, and what is under way.
fn push_operations(reply: &mut Object, operations: &Operations, compression: Object, up: Duration) {
    let mut counters = Object::with_capacity(6);
    for (kind, count) in operations.counted() {
        counters.push(kind.counter(), number(count));
    }
    reply.push("opcounters", Value::Object(counters));
    let traffic = &operations.traffic;
    let read = |counter: &AtomicU64| number(counter.load(Ordering::Relaxed));
    let mut network = Object::with_capacity(4);
    network.push("bytesIn", read(&traffic.came));
    network.push("bytesOut", read(&traffic.went));
    network.push("numRequests", read(&traffic.requests));
    network.push("compression", Value::Object(compression));
    reply.push("network", Value::Object(network));
    let mut active = Object::with_capacity(1);
    let running = u64::try_from(operations.running()).unwrap_or(u64::MAX);
    active.push("total", number(running));
    let mut lock = Object::with_capacity(2);
    let micros = u64::try_from(up.as_micros()).unwrap_or(u64::MAX);
    lock.push("totalTime", number(micros));
    lock.push("activeClients", Value::Object(active));
    reply.push("globalLock", Value::Object(lock));
}

/// Memory of this process, where the system tells it.
fn memory() -> Object {
    let mut memory = Object::with_capacity(4);
    memory.push("bits", 64);
    if let Some((resident, virtual_)) = machine::own_memory() {
        let megabytes = |bytes: u64| i32::try_from(bytes >> 20).unwrap_or(i32::MAX);
        memory.push("resident", megabytes(resident));
        memory.push("virtual", megabytes(virtual_));
    }
    memory.push("supported", true);
    memory
}
