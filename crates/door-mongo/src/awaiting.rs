//! Greetings that wait. A driver that watches the server names the state it knows, and is answered when that changes, or after a
//! while. Who waits so is an idle connection: it holds no turn, is not in the list of what is running, and ends with the server.

use std::cmp::Ordering;
use std::time::Duration;

use bytes::BytesMut;
use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use crate::codes;
use crate::door::Door;
use crate::fields::{Fields, number, whole};
use crate::registry;
use crate::wire::{Incoming, Message, OpMsg};

/// The number of the state: there is one as long as the process lives.
const COUNTER: i64 = 1;
/// The longest wait, in milliseconds: a day.
const WAIT_MS_MAX: u64 = 24 * 60 * 60 * 1000;
/// The shortest pause between two greetings that were not asked for one by one.
const STREAMED_PAUSE_MIN: Duration = Duration::from_millis(10);
/// Members of a greeting that are repeated when it is answered again unasked. None of them begins a login.
const REPEATED: [&str; 4] = ["$db", "helloOk", "maxAwaitTimeMS", VERSION];
const VERSION: &str = "topologyVersion";

/// The state as clients see it.
pub(crate) fn version(door: &Door) -> Value {
    let mut version = Object::with_capacity(2);
    version.push("processId", Value::ObjectId(door.election));
    version.push("counter", Value::Int64(COUNTER));
    Value::Object(version)
}

/// How long a greeting is to wait; nothing, if it does not wait.
///
/// # Errors
/// When it says so in a wrong way.
pub(crate) fn wait(door: &Door, body: &Object) -> Result<Option<Duration>, Fault> {
    let alone = |text: &str| Err(Fault::new(codes::AWAIT_INCOMPLETE, text));
    let member = |name: &str| body.get(name).filter(|value| !value.is_null());
    let (version, wait) = match (member(VERSION), member("maxAwaitTimeMS")) {
        (None, None) => return Ok(None),
        (Some(_), None) => {
            return alone("A request with a 'topologyVersion' must include 'maxAwaitTimeMS'");
        }
        (None, Some(_)) => {
            return alone("A request with 'maxAwaitTimeMS' must include a 'topologyVersion'");
        }
        (Some(version), Some(wait)) => (version, wait),
    };
    let mut fields = Fields::new("hello", Object::new());
    let milliseconds = match wait {
        value if number(value).is_some() => whole(value),
        other => return Err(fields.wrong("maxAwaitTimeMS", other, "long")),
    };
    let Value::Object(known) = version else {
        return Err(fields.wrong(VERSION, version, "object"));
    };
    fields = Fields::new("hello.topologyVersion", known.clone());
    let process = match fields.any("processId") {
        Some(Value::ObjectId(process)) => process,
        Some(other) => return Err(fields.wrong("processId", &other, "objectId")),
        None => return Err(fields.missing("processId")),
    };
    let counter = match fields.any("counter") {
        Some(Value::Int64(counter)) => counter,
        Some(other) => return Err(fields.wrong("counter", &other, "long")),
        None => return Err(fields.missing("counter")),
    };
    fields.end()?;
    let Ok(milliseconds) = u64::try_from(milliseconds) else {
        return Err(Fault::new(
            codes::NEGATIVE,
            format!(
                "BSON field 'maxAwaitTimeMS' value must be >= 0, actual value '{milliseconds}'"
            ),
        ));
    };
    // The wait ends at a time that can be said.
    let now = door.service.clock().now().0;
    if now.saturating_add(milliseconds) > i64::MAX.unsigned_abs() {
        return Err(Fault::new(
            codes::DURATION_OVERFLOW,
            format!("Overflow while adding {milliseconds}ms to {now}ms"),
        ));
    }
    let wait = Duration::from_millis(milliseconds.min(WAIT_MS_MAX));
    // Who knows another process, or less of this one, has something to learn.
    Ok(Some(match process == door.election {
        false => Duration::ZERO,
        true => of_counter(counter, wait)?,
    }))
}

fn of_counter(counter: i64, wait: Duration) -> Result<Duration, Fault> {
    if counter < 0 {
        return Err(Fault::new(
            codes::COUNTER_NEGATIVE,
            "topologyVersion must have a non-negative counter",
        ));
    }
    match counter.cmp(&COUNTER) {
        Ordering::Less => Ok(Duration::ZERO),
        Ordering::Equal => Ok(wait),
        Ordering::Greater => Err(Fault::new(
            codes::COUNTER_TOO_NEW,
            format!(
                "Received a topology version with counter: {counter} which is greater than the server topology version counter: {COUNTER}"
            ),
        )),
    }
}

/// How long the answer to a message is put off. What is wrong with it is for the command to say, at once.
pub(crate) fn pause(door: &Door, incoming: &Incoming) -> Option<Duration> {
    let Message::Msg(msg) = &incoming.message else {
        return None;
    };
    if !greets(msg) {
        return None;
    }
    let pause = wait(door, &msg.body).ok().flatten()?;
    // A greeting that answers itself has no bytes that came.
    let unasked = incoming.bytes == 0;
    Some(if unasked {
        pause.max(STREAMED_PAUSE_MIN)
    } else {
        pause
    })
    .filter(|pause| !pause.is_zero())
}

/// Waits, less if the client sends something; false, if it has gone.
pub(crate) async fn idle(
    stream: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    pause: Duration,
) -> bool {
    if !inbox.is_empty() {
        return true;
    }
    match timeout(pause, stream.read_buf(inbox)).await {
        Err(_) => true,
        Ok(Ok(bytes)) => bytes > 0,
        Ok(Err(_)) => false,
    }
}

/// The greeting that is answered next, unasked, if a message asks for a stream of them.
pub(crate) fn repeated(door: &Door, msg: &OpMsg) -> Option<OpMsg> {
    let streams = msg.exhaust_allowed && !msg.more_to_come && msg.body.contains_key(VERSION);
    if !streams || !greets(msg) {
        return None;
    }
    let mut body = Object::with_capacity(REPEATED.len() + 1);
    for (at, (name, value)) in msg.body.iter().enumerate() {
        if at == 0 || REPEATED.contains(&name.as_str()) {
            body.push(name.clone(), value.clone());
        }
    }
    body.insert(VERSION, version(door));
    Some(OpMsg {
        body,
        sequences: Vec::new(),
        more_to_come: false,
        exhaust_allowed: true,
        shown: Box::default(),
    })
}

fn greets(msg: &OpMsg) -> bool {
    let name = msg.body.keys().next();
    let command = name.and_then(|name| registry::find(name));
    command.is_some_and(|command| command.name == "hello")
}
