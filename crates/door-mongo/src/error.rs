//! What each kind of failure looks like at this door. The only file here that turns kinds into numbers.

use lapsedb_service::documents::{Fault, WriteFault};
use lapsedb_service::{Error, Kind};
use lapsedb_value::{Object, Value};

use crate::codes;

fn code_of(kind: &Kind) -> i32 {
    match kind {
        Kind::BadRequest
        | Kind::PartitionKeyMismatch
        | Kind::CollectionChanged
        | Kind::BadQuery { .. } => 2,
        Kind::Unauthorized | Kind::Forbidden => 13,
        Kind::NotFound | Kind::ItemNotFound | Kind::OwnerNotFound => 26,
        Kind::SessionNotAvailable => 246,
        Kind::Conflict | Kind::DatabaseNameTaken => 11_000,
        Kind::PreconditionFailed | Kind::FailedDependency => 20,
        Kind::TooLarge | Kind::AnswerTooLarge => 10_334,
        Kind::Throttled { .. } => codes::RATE_TOO_LARGE,
        Kind::RangeGone => 43,
        Kind::RetryWith => 112,
        Kind::MethodNotAllowed | Kind::NotImplemented => 115,
        Kind::Internal => 1,
        Kind::Unavailable => 91,
        Kind::NoMemory => codes::EXCEEDED_MEMORY_LIMIT,
        Kind::NoSpace => codes::OUT_OF_DISK_SPACE,
        // Drivers neither send the write again by themselves nor take it for undone: it may have been made, but is not known to be durable.
        Kind::OutcomeUnknown => codes::WRITE_CONCERN_FAILED,
        Kind::TimedOut => 50,
    }
}

/// The number, text and further members of a failure.
fn parts(fault: &Fault) -> (i32, String, Object) {
    match fault {
        Fault::Said {
            code,
            message,
            info,
        } => (*code, message.clone(), info.clone()),
        Fault::Other(error) => (code_of(&error.kind), text(error), Object::new()),
    }
}

fn text(error: &Error) -> String {
    match error.kind {
        Kind::Throttled { retry_after_ms } => format!(
            "Error=16500, RetryAfterMs={retry_after_ms}, Details='Response status code does not indicate success: TooManyRequests (429); Substatus: 3200; {}'",
            error.message
        ),
        _ => error.message.clone(),
    }
}

/// A failed command's reply, without what every reply has.
pub(crate) fn document(fault: &Fault) -> (i32, Object) {
    let (code, message, info) = parts(fault);
    let mut document = Object::with_capacity(8);
    document.push("ok", Value::Double(0.0));
    document.push("errmsg", message);
    document.push("code", code);
    document.push("codeName", codes::name(code));
    for (name, value) in info {
        document.push(name, value);
    }
    if code == codes::RATE_TOO_LARGE {
        // Nothing was executed: drivers that know these labels wait and try again by themselves.
        let labels = ["SystemOverloadedError", "RetryableError"].map(Value::from);
        document.push("errorLabels", Value::Array(labels.to_vec()));
    }
    (code, document)
}

/// A statement that failed, as a member of `writeErrors`.
pub(crate) fn write_error(failed: &WriteFault) -> Value {
    let (code, message, info) = parts(&failed.fault);
    let mut document = Object::with_capacity(6);
    document.push("index", i32::try_from(failed.index).unwrap_or(i32::MAX));
    document.push("code", code);
    for (name, value) in info {
        if name != "errorLabels" {
            document.push(name, value);
        }
    }
    document.push("errmsg", message);
    Value::Object(document)
}
