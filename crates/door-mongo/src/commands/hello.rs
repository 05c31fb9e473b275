//! Greets: a set of one member, which is this server.

use std::net::SocketAddr;

use lapsedb_service::documents::{DOCUMENT_BYTES_MAX, Fault, WRITES_MAX};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::awaiting;
use crate::call::Call;
use crate::codes;
use crate::commands::sasl_start;
use crate::wire::{Compressor, MESSAGE_BYTES_MAX};

/// The name of the set.
const SET_NAME: &str = "lapsedb";
/// The name of the set in Cosmos' connection strings.
const COSMOS_SET_NAME: &str = "globaldb";
/// The newest form of the wire that is understood: that of release 7.0.
const WIRE_VERSION_MAX: i32 = 21;
/// How long a session lives without being used, in minutes.
const SESSION_MINUTES: i32 = 30;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let body = std::mem::take(&mut call.body);
    if body.contains_key("client") {
        call.connection.app_name = app_name(&body).map(str::to_owned);
        call.connection.line.call(call.connection.app_name.clone());
    }
    // The wait itself is over.
    awaiting::wait(call.door, &body)?;
    let mut reply = Object::with_capacity(32);
    reply.push("topologyVersion", awaiting::version(call.door));
    let host = host(call);
    if body.get("helloOk").and_then(Value::as_bool) == Some(true) {
        reply.push("helloOk", true);
    }
    let leads = if call.name == "hello" {
        "isWritablePrimary"
    } else {
        "ismaster"
    };
    reply.push(leads, true);
    reply.push("hosts", Value::Array(vec![Value::from(host.as_str())]));
    reply.push("setName", set_name(call));
    reply.push("setVersion", 1);
    reply.push("secondary", false);
    reply.push("primary", host.as_str());
    reply.push("me", host.as_str());
    reply.push("electionId", Value::ObjectId(call.door.election));
    reply.push("lastWrite", Value::Object(last_write(call)));
    reply.push("maxBsonObjectSize", size(DOCUMENT_BYTES_MAX));
    reply.push("maxMessageSizeBytes", size(MESSAGE_BYTES_MAX));
    reply.push("maxWriteBatchSize", size(WRITES_MAX));
    reply.push("localTime", now(call));
    reply.push("logicalSessionTimeoutMinutes", SESSION_MINUTES);
    reply.push("connectionId", call.connection.number);
    reply.push("minWireVersion", 0);
    reply.push("maxWireVersion", WIRE_VERSION_MAX);
    reply.push("readOnly", false);
    let shared = compression(&body);
    if !shared.is_empty() {
        reply.push("compression", Value::Array(shared));
    }
    if let Some(user) = body.get("saslSupportedMechs") {
        let all = mechanisms(call, user).await?;
        reply.push("saslSupportedMechs", Value::Array(all));
    }
    if let Some(Value::Object(early)) = body.get("speculativeAuthenticate")
        && let Ok(Answer::Plain(first)) = sasl_start::speculate(call, early.clone()).await
    {
        reply.push("speculativeAuthenticate", Value::Object(first));
    }
    Ok(Answer::Plain(reply))
}

/// What a greeting says that the client's program is called.
pub(crate) fn app_name(body: &Object) -> Option<&str> {
    let client = body.get("client")?;
    client.get("application").get("name").as_str()
}

/// The mechanisms a user may log in by, who is named by database and name.
async fn mechanisms(call: &Call<'_>, user: &Value) -> Result<Vec<Value>, Fault> {
    let Some((database, name)) = user.as_str().and_then(|user| user.split_once('.')) else {
        return Err(Fault::new(
            codes::BAD_VALUE,
            "UserName must contain a '.' separated database.user pair",
        ));
    };
    let all = call.door.users.mechanisms(call.door, database, name);
    Ok(all.await?.into_iter().map(Value::from).collect())
}

fn size(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

/// The name of the set that a client expects. Connection strings of Cosmos name another one; by their custom the client's
/// program then calls itself `@account@`.
pub(crate) fn set_name(call: &Call<'_>) -> &'static str {
    let name = call.connection.app_name.as_deref().unwrap_or_default();
    let cosmos = name.len() > 2 && name.starts_with('@') && name.ends_with('@');
    if cosmos { COSMOS_SET_NAME } else { SET_NAME }
}

/// The address clients are to use: the one named at the start, or the one they have already found.
pub(crate) fn host(call: &Call<'_>) -> String {
    if let Some(advertised) = &call.door.settings.advertise {
        return advertised.clone();
    }
    match call.connection.peer.server {
        SocketAddr::V4(address) => address.to_string(),
        SocketAddr::V6(address) => match address.ip().to_ipv4_mapped() {
            Some(ip) => format!("{ip}:{}", address.port()),
            None => format!("[{}]:{}", address.ip(), address.port()),
        },
    }
}

/// The server's time as a date.
pub(crate) fn now(call: &Call<'_>) -> Value {
    let now = call.door.service.clock().now();
    Value::Date(i64::try_from(now.0).unwrap_or(i64::MAX))
}

fn last_write(call: &Call<'_>) -> Object {
    let service = &call.door.service;
    let stamp = service.documents_state().stamp(service.clock().now());
    let mut time = Object::with_capacity(2);
    time.push("ts", Value::Timestamp(stamp));
    time.push("t", Value::Int64(1));
    let mut last = Object::with_capacity(4);
    last.push("opTime", Value::Object(time.clone()));
    last.push("lastWriteDate", now(call));
    last.push("majorityOpTime", Value::Object(time));
    last.push("majorityWriteDate", now(call));
    last
}

/// The compressors both sides know, in the client's order.
fn compression(body: &Object) -> Vec<Value> {
    let asked = body
        .get("compression")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let known = |name: &Value| {
        Compressor::NAMED
            .iter()
            .any(|(known, _)| name.as_str() == Some(known))
    };
    asked.iter().filter(|name| known(name)).cloned().collect()
}
