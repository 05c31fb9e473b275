//! What is said of a write concern that a set of one cannot fulfil. The write is kept all the same.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::codes;
use crate::registry::Command;
use crate::types;

/// Commands that take a write concern and may have written.
const WRITES: [&str; 14] = [
    "abortTransaction",
    "aggregate",
    "collMod",
    "commitTransaction",
    "create",
    "createIndexes",
    "delete",
    "drop",
    "dropDatabase",
    "dropIndexes",
    "findAndModify",
    "insert",
    "renameCollection",
    "update",
];
/// Commands that only read, and take none.
const READS: [&str; 8] = [
    "count",
    "distinct",
    "explain",
    "find",
    "getMore",
    "listCollections",
    "listDatabases",
    "listIndexes",
];
/// Members a set may have.
const MEMBERS_MAX: i64 = 50;

/// Takes a command's write concern out, checked.
pub(crate) fn take(body: &mut Object) -> Result<Option<Object>, Fault> {
    let concern = match body.remove("writeConcern") {
        None => return Ok(None),
        Some(Value::Object(concern)) => concern,
        Some(other) => {
            return Err(Fault::new(
                codes::TYPE_MISMATCH,
                format!(
                    "\"writeConcern\" had the wrong type. Expected object, found {}",
                    types::name(&other)
                ),
            ));
        }
    };
    for (name, value) in concern.iter() {
        match name.as_str() {
            "w" => members(value)?,
            "j" | "fsync" => truth(name, value)?,
            "wtimeout" | "provenance" | "getLastError" => {}
            unknown => {
                return Err(Fault::new(
                    codes::UNKNOWN_FIELD,
                    format!("BSON field 'WriteConcernOptions.{unknown}' is an unknown field."),
                ));
            }
        }
    }
    let set = |name: &str| {
        concern.get(name).is_some_and(|value| {
            value.as_bool() == Some(true) || value.as_f64().is_some_and(|n| n != 0.0)
        })
    };
    if set("fsync") && set("j") {
        return Err(Fault::new(
            codes::FAILED_TO_PARSE,
            "fsync and j options cannot be used together",
        ));
    }
    Ok(Some(concern))
}

fn members(value: &Value) -> Result<(), Fault> {
    match value {
        Value::String(_) | Value::Object(_) | Value::Null => Ok(()),
        number => match number.as_f64() {
            Some(count) if (0.0..=MEMBERS_MAX as f64).contains(&count) => Ok(()),
            Some(count) => Err(Fault::new(
                codes::FAILED_TO_PARSE,
                format!(
                    "w has to be a non-negative number and not greater than {MEMBERS_MAX}; found: {count}"
                ),
            )),
            None => Err(Fault::new(
                codes::FAILED_TO_PARSE,
                format!(
                    "w has to be a number, string, or object; found: {}",
                    types::name(number)
                ),
            )),
        },
    }
}

fn truth(name: &str, value: &Value) -> Result<(), Fault> {
    if matches!(value, Value::Bool(_)) || value.is_number() {
        return Ok(());
    }
    Err(Fault::new(
        codes::TYPE_MISMATCH,
        format!(
            "BSON field 'WriteConcernOptions.{name}' is the wrong type '{}', expected types '[bool, long, int, decimal, double']",
            types::name(value)
        ),
    ))
}

/// Refuses a write concern on a command that only reads.
pub(crate) fn check(command: &Command, concern: Option<&Object>) -> Result<(), Fault> {
    if concern.is_some() && READS.contains(&command.name) {
        return Err(Fault::new(
            codes::INVALID_OPTIONS,
            "Command does not support writeConcern",
        ));
    }
    Ok(())
}

/// Whether a command writes, so that its write concern matters.
pub(crate) fn matters(command: &Command, body: &Object) -> bool {
    let pours = || {
        let stages = body.get("pipeline").and_then(Value::as_array);
        let last = stages.and_then(<[Value]>::last).and_then(Value::as_object);
        last.is_some_and(|stage| stage.contains_key("$out") || stage.contains_key("$merge"))
    };
    WRITES.contains(&command.name) && (command.name != "aggregate" || pours())
}

/// Failures of commands that were executed: of their write concern is told too.
const EXECUTED: [i32; 5] = [26, 27, 48, 66, 11_000];

/// The same failure with what is said of the write concern.
pub(crate) fn with_failure(fault: Fault, concern: Object) -> Fault {
    match fault {
        Fault::Said {
            code,
            message,
            mut info,
        } if EXECUTED.contains(&code) => {
            info.push("writeConcernError", Value::Object(concern));
            Fault::with(code, message, info)
        }
        other => other,
    }
}

/// The error of a command's write concern, if it asks for more members than there are.
pub(crate) fn error(concern: &Object) -> Option<Object> {
    let (code, text) = match concern.get("w")? {
        Value::String(mode) if mode == "majority" => return None,
        Value::String(mode) => (79, unknown_mode(mode)),
        Value::Null => (79, unknown_mode("")),
        Value::Object(tags) => {
            let tag = tags.keys().next().map_or("", |tag| tag.as_str());
            (4, format!("No replica set tag key {tag} in config"))
        }
        number if number.as_f64().is_some_and(|members| members < 2.0) => return None,
        _ => (100, "Not enough data-bearing nodes".to_owned()),
    };
    let mut shown = Object::with_capacity(3);
    shown.push("w", concern.get("w").cloned().unwrap_or(Value::Null));
    let timeout = concern.get("wtimeout").cloned();
    shown.push("wtimeout", timeout.unwrap_or(Value::Int32(0)));
    shown.push("provenance", "clientSupplied");
    let mut info = Object::with_capacity(1);
    info.push("writeConcern", Value::Object(shown));
    let mut error = Object::with_capacity(4);
    error.push("code", code);
    error.push("codeName", codes::name(code));
    error.push("errmsg", text);
    error.push("errInfo", Value::Object(info));
    Some(error)
}

fn unknown_mode(mode: &str) -> String {
    format!("No write concern mode named '{mode}' found in replica set configuration")
}
