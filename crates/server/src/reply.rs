//! Answers of the server itself, as opposed to a door's.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use lapsedb_service::{Error, Kind};
use lapsedb_value::{Object, Value, json};

/// An answer; whole, so that its length is always sent.
pub type Reply = Response<Full<Bytes>>;

/// An answer of any type of content.
pub fn bytes(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

/// An answer in JSON.
pub fn json(status: StatusCode, members: impl IntoIterator<Item = (&'static str, Value)>) -> Reply {
    let mut body = Vec::new();
    json::write(&object(members), &mut body);
    bytes(status, "application/json", body)
}

/// A JSON object of these members.
pub fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut object = Object::new();
    for (name, value) in members {
        object.push(name, value);
    }
    Value::Object(object)
}

/// `{"code":"…","message":"…"}`.
pub fn error(status: StatusCode, message: &str) -> Reply {
    // The reason phrase without its spaces is the code that Cosmos clients know: NotFound, BadRequest.
    let code = status
        .canonical_reason()
        .unwrap_or("Error")
        .replace(' ', "");
    json(
        status,
        [
            ("code", Value::from(code.as_str())),
            ("message", Value::from(message)),
        ],
    )
}

/// The answer to a method that the address does not have.
pub fn not_allowed(allowed: &'static str) -> Reply {
    let mut reply = error(
        StatusCode::METHOD_NOT_ALLOWED,
        &format!("this address takes {allowed}"),
    );
    reply
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allowed));
    reply
}

/// The answer to a verb that failed.
pub fn failure(failure: &Error) -> Reply {
    let status = status(&failure.kind);
    if status.is_server_error() {
        tracing::error!(message = failure.message, "request failed");
    }
    error(status, &failure.message)
}

/// The status of a kind: that of the NoSQL door, but for what only that door calls otherwise.
fn status(kind: &Kind) -> StatusCode {
    match kind {
        Kind::NotImplemented => StatusCode::NOT_IMPLEMENTED,
        Kind::RetryWith => StatusCode::SERVICE_UNAVAILABLE,
        kind => lapsedb_door_cosmos::status(kind),
    }
}
