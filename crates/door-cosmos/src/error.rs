//! What each kind of failure looks like over REST. The only file here that knows status codes of failures.

use http::StatusCode;
use lapsedb_service::{Error, Kind};
use lapsedb_value::{Object, Value, json};

use crate::answer::Answer;
use crate::headers;

/// The status of a kind.
#[must_use]
pub fn status(kind: &Kind) -> StatusCode {
    match kind {
        Kind::BadRequest
        | Kind::PartitionKeyMismatch
        | Kind::CollectionChanged
        | Kind::BadQuery { .. } => StatusCode::BAD_REQUEST,
        Kind::Unauthorized => StatusCode::UNAUTHORIZED,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::NotFound | Kind::OwnerNotFound | Kind::SessionNotAvailable => StatusCode::NOT_FOUND,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
        Kind::TooLarge | Kind::AnswerTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::Throttled { .. } => StatusCode::TOO_MANY_REQUESTS,
        Kind::RangeGone => StatusCode::GONE,
        Kind::FailedDependency => StatusCode::FAILED_DEPENDENCY,
        Kind::RetryWith => StatusCode::from_u16(449).unwrap_or(StatusCode::CONFLICT),
        Kind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Kind::NotImplemented => StatusCode::BAD_REQUEST,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Kind::Unavailable | Kind::NoMemory => StatusCode::SERVICE_UNAVAILABLE,
        Kind::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        // The one status after which no SDK takes a write for not executed, and none sends it again by itself.
        Kind::TimedOut | Kind::OutcomeUnknown => StatusCode::REQUEST_TIMEOUT,
    }
}

/// The sub-status of a kind: 0 means there is none.
#[must_use]
pub fn sub_status(kind: &Kind) -> u64 {
    match kind {
        Kind::PartitionKeyMismatch => 1001,
        Kind::CollectionChanged => 1024,
        Kind::OwnerNotFound => 1003,
        Kind::SessionNotAvailable => 1002,
        Kind::Throttled { .. } => 3200,
        // Clients that send bulks send such an operation again, by this number.
        Kind::AnswerTooLarge => 3402,
        Kind::RangeGone => 1002,
        Kind::BadRequest
        | Kind::BadQuery { .. }
        | Kind::Unauthorized
        | Kind::Forbidden
        | Kind::NotFound
        | Kind::Conflict
        | Kind::PreconditionFailed
        | Kind::TooLarge
        | Kind::FailedDependency
        | Kind::RetryWith
        | Kind::MethodNotAllowed
        | Kind::NotImplemented
        | Kind::Internal
        | Kind::Unavailable
        | Kind::NoSpace
        | Kind::NoMemory
        | Kind::OutcomeUnknown
        | Kind::TimedOut => 0,
    }
}

/// The `code` of a kind in an error's body.
fn code(kind: &Kind) -> &'static str {
    match kind {
        Kind::BadRequest
        | Kind::PartitionKeyMismatch
        | Kind::CollectionChanged
        | Kind::BadQuery { .. }
        | Kind::NotImplemented => "BadRequest",
        Kind::Unauthorized => "Unauthorized",
        Kind::Forbidden => "Forbidden",
        Kind::NotFound | Kind::OwnerNotFound | Kind::SessionNotAvailable => "NotFound",
        Kind::Conflict => "Conflict",
        Kind::PreconditionFailed => "PreconditionFailed",
        Kind::TooLarge | Kind::AnswerTooLarge => "RequestEntityTooLarge",
        Kind::Throttled { .. } => "TooManyRequests",
        Kind::RangeGone => "Gone",
        Kind::FailedDependency => "FailedDependency",
        Kind::RetryWith => "RetryWith",
        Kind::MethodNotAllowed => "MethodNotAllowed",
        Kind::Internal => "InternalServerError",
        Kind::Unavailable | Kind::NoMemory => "ServiceUnavailable",
        Kind::NoSpace => "InsufficientStorage",
        Kind::TimedOut | Kind::OutcomeUnknown => "RequestTimeout",
    }
}

/// The answer to a failed request.
#[must_use]
pub fn answer(error: &Error, path: &str, activity: &str) -> Answer {
    let text = format!(
        "Message: {}\r\nActivityId: {activity}, Request URI: {path}, RequestStats: , SDK: lapsedb/{}",
        details(error),
        env!("CARGO_PKG_VERSION"),
    );
    let mut body = Object::new();
    body.push("code", Value::from(code(&error.kind)));
    body.push("message", Value::from(text));
    let body = Value::Object(body);
    let mut answer = Answer::value(status(&error.kind), error.cost(), &body);
    answer.set_number(headers::SUB_STATUS, sub_status(&error.kind));
    if let Some(lsn) = error.lsn {
        answer.log_position(lsn);
    }
    if let Kind::Throttled { retry_after_ms } = error.kind {
        answer.set_number(headers::RETRY_AFTER_MS, retry_after_ms);
    }
    answer
}

/// The JSON text inside the message, as the service shapes it: one list for queries, another for the rest.
fn details(error: &Error) -> String {
    let mut outer = Object::new();
    match &error.kind {
        Kind::BadQuery { code, start, end } => {
            let mut one = Object::new();
            one.push("severity", Value::from("Error"));
            // What the service's planner refuses has a number instead of a code, and no place in the text.
            match code.parse() {
                Ok(number) => one.push("code", Value::Int64(number)),
                Err(_) => {
                    let mut location = Object::new();
                    location.push("start", number(*start));
                    location.push("end", number(*end));
                    one.push("location", Value::Object(location));
                    one.push("code", Value::from(*code));
                }
            }
            one.push("message", Value::from(error.message.as_str()));
            outer.push("errors", Value::Array(vec![Value::Object(one)]));
        }
        _ => outer.push(
            "Errors",
            Value::Array(vec![Value::from(error.message.as_str())]),
        ),
    }
    json::to_string(&Value::Object(outer))
}

fn number(number: usize) -> Value {
    Value::Int64(i64::try_from(number).unwrap_or(i64::MAX))
}
