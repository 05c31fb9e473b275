//! What is said of a write concern that a set of one cannot fulfil. The write is kept all the same.

use lapsedb_value::{Object, Value};

use crate::call::Call;

/// Commands that take a write concern.
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

/// The error of a command's write concern, if it asks for more members than there are.
pub(crate) fn error(call: &Call<'_>) -> Option<Object> {
    let concern = call.generic.write_concern.as_ref()?;
    if !WRITES.contains(&call.command.name) {
        return None;
    }
    let named = match concern.get("w")? {
        Value::String(mode) if mode == "majority" => return None,
        Value::String(_) => true,
        number if number.as_i64().is_some_and(|members| members <= 1) => return None,
        _ => false,
    };
    let (code, name, text) = if named {
        (
            79,
            "UnknownReplWriteConcern",
            "No write concern mode of this name found in replica set configuration",
        )
    } else {
        (
            100,
            "UnsatisfiableWriteConcern",
            "Not enough data-bearing nodes",
        )
    };
    let mut info = Object::with_capacity(1);
    info.push("writeConcern", Value::Object(concern.clone()));
    let mut error = Object::with_capacity(4);
    error.push("code", code);
    error.push("codeName", name);
    error.push("errmsg", text);
    error.push("errInfo", Value::Object(info));
    Some(error)
}
