//! What each kind of failure looks like over REST. The only file here that knows status codes of failures.

use http::StatusCode;
use lapsedb_service::{Error, Kind};
use lapsedb_value::{Object, Value, json};

use crate::answer::Answer;
use crate::headers;

/// What a kind of failure looks like.
struct Form {
    status: StatusCode,
    /// The `code` in the body.
    code: &'static str,
    /// The sub-status: 0 means there is none.
    sub: u64,
    /// Whether the answer says how far the log has come: these are the failures that clients take it from.
    log_position: bool,
}

impl Form {
    const fn new(status: StatusCode, code: &'static str) -> Form {
        Form {
            status,
            code,
            sub: 0,
            log_position: false,
        }
    }

    const fn sub(self, sub: u64) -> Form {
        Form { sub, ..self }
    }

    const fn with_log_position(self) -> Form {
        Form {
            log_position: true,
            ..self
        }
    }
}

/// What each kind looks like.
fn form(kind: &Kind) -> Form {
    let bad_request = || Form::new(StatusCode::BAD_REQUEST, "BadRequest");
    let not_found = || Form::new(StatusCode::NOT_FOUND, "NotFound");
    let too_large = || Form::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge");
    match kind {
        Kind::BadRequest | Kind::BadQuery { .. } | Kind::NotImplemented => bad_request(),
        Kind::PartitionKeyMismatch => bad_request().sub(1001),
        Kind::CollectionChanged => bad_request().sub(1024),
        Kind::Unauthorized => Form::new(StatusCode::UNAUTHORIZED, "Unauthorized"),
        Kind::Forbidden => Form::new(StatusCode::FORBIDDEN, "Forbidden"),
        Kind::NotFound | Kind::ItemNotFound => not_found().with_log_position(),
        Kind::OwnerNotFound => not_found().sub(1003),
        Kind::SessionNotAvailable => not_found().sub(1002),
        Kind::Conflict => Form::new(StatusCode::CONFLICT, "Conflict").with_log_position(),
        Kind::DatabaseNameTaken => Form::new(StatusCode::CONFLICT, "Conflict")
            .sub(3206)
            .with_log_position(),
        Kind::PreconditionFailed => {
            Form::new(StatusCode::PRECONDITION_FAILED, "PreconditionFailed").with_log_position()
        }
        Kind::TooLarge => too_large(),
        // Clients that send bulks send such an operation again, by this number.
        Kind::AnswerTooLarge => too_large().sub(3402),
        Kind::Throttled { .. } => {
            Form::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests").sub(3200)
        }
        Kind::RangeGone => Form::new(StatusCode::GONE, "Gone").sub(1002),
        Kind::FailedDependency => Form::new(StatusCode::FAILED_DEPENDENCY, "FailedDependency"),
        Kind::RetryWith => {
            let status = StatusCode::from_u16(449).unwrap_or(StatusCode::CONFLICT);
            Form::new(status, "RetryWith")
        }
        Kind::MethodNotAllowed => Form::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed"),
        Kind::Internal => Form::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError"),
        Kind::Unavailable | Kind::NoMemory => {
            Form::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")
        }
        Kind::NoSpace => Form::new(StatusCode::INSUFFICIENT_STORAGE, "InsufficientStorage"),
        // The one status after which no SDK takes a write for not executed, and none sends it again by itself.
        Kind::TimedOut | Kind::OutcomeUnknown => {
            Form::new(StatusCode::REQUEST_TIMEOUT, "RequestTimeout")
        }
    }
}

/// The status of a kind.
#[must_use]
pub fn status(kind: &Kind) -> StatusCode {
    form(kind).status
}

/// The sub-status of a kind: 0 means there is none.
#[must_use]
pub fn sub_status(kind: &Kind) -> u64 {
    form(kind).sub
}

/// Whether the answer to a failure of this kind says how far the log has come.
#[must_use]
pub fn has_log_position(kind: &Kind) -> bool {
    form(kind).log_position
}

/// The answer to a failed request.
#[must_use]
pub fn answer(error: &Error, path: &str, activity: &str) -> Answer {
    let text = format!(
        "{}\r\nActivityId: {activity}, Request URI: {path}, RequestStats: , SDK: lapsedb/{}",
        message(error),
        env!("CARGO_PKG_VERSION"),
    );
    let mut body = Object::new();
    let form = form(&error.kind);
    body.push("code", Value::from(form.code));
    body.push("message", Value::from(text));
    let body = Value::Object(body);
    let mut answer = Answer::value(form.status, error.cost(), &body);
    answer.set_number(headers::SUB_STATUS, form.sub);
    if let Some(lsn) = error.lsn {
        answer.log_position(lsn);
    }
    if let Kind::Throttled { retry_after_ms } = error.kind {
        answer.set_number(headers::RETRY_AFTER_MS, retry_after_ms);
    }
    answer
}

/// What was wrong, as the service's gateway says it: in plain text of an item that was to be read, else in JSON.
fn message(error: &Error) -> String {
    if error.kind == Kind::ItemNotFound {
        return format!("{}, ", error.message);
    }
    format!("Message: {}", details(error))
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
