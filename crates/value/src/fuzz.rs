//! What must hold for any bytes at all; bodies for fuzz targets and property tests.
//!
//! Each function reads the bytes in one format and says what does not add up. That the bytes are
//! refused is no complaint.

use crate::budget::object_bytes;
use crate::{Value, bson, cosmos_binary, json, order};

fn check(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// Parsed JSON prints to JSON that parses to the same, and printing settles at once; in binary JSON it is the same too.
pub fn json(bytes: &[u8]) -> Result<(), String> {
    let Ok(value) = json::parse(bytes, &json::Limits::DEFAULT) else {
        return Ok(());
    };
    let text = json::to_string(&value);
    let again = json::parse(text.as_bytes(), &json::Limits::DEFAULT);
    let again = again.map_err(|error| format!("printed JSON does not parse: {error}"))?;
    check(
        order::deep_equal(&value, &again),
        "printed JSON means something else",
    )?;
    check(json::to_string(&again) == text, "printing does not settle")?;
    written_in_binary(&value)
}

/// The reader, the checker and the transcoder agree on what is BSON and what it says, and what is read can be
/// written and read again. In binary JSON it says what it says in text.
pub fn bson(bytes: &[u8]) -> Result<(), String> {
    let (checked, read) = (bson::check_document(bytes), bson::read_document(bytes));
    let read = read.map(|object| object_bytes(&object));
    if checked != read {
        return Err(format!("checker and reader differ: {checked:?}, {read:?}"));
    }
    let mut members = b"before".to_vec();
    let count = bson::json_members(bytes, &mut members);
    let object = match (bson::read_document(bytes), count) {
        (Err(_), Err(_)) => return check(members == b"before", "an error left something behind"),
        (Ok(object), Ok(count)) if object.len() == count => object,
        (read, count) => return Err(format!("reader and transcoder differ: {read:?}, {count:?}")),
    };
    let mut expected = b"before".to_vec();
    json::write_members(&object, &mut expected);
    check(
        members == expected,
        "reader and transcoder print differently",
    )?;
    for (name, value) in &object {
        let found = bson::find(bytes, &[name]).map_err(|error| error.to_string())?;
        let found = found.ok_or("a member is not found")?.to_value();
        let found = found.map_err(|error| error.to_string())?;
        let first = object.get(name).unwrap_or(value);
        check(
            order::deep_equal(&found, first),
            "a member is found but differs",
        )?;
    }
    let mut written = Vec::new();
    bson::write_document(&object, &mut written);
    let again = bson::read_document(&written).map_err(|error| error.to_string())?;
    let (before, after) = (Value::Object(object), Value::Object(again));
    check(
        order::deep_equal(&before, &after),
        "written BSON means something else",
    )?;
    written_in_binary(&before)
}

/// Decoded binary JSON is a value that JSON text can say as well, and that is the same once written and decoded again.
pub fn cosmos_binary(bytes: &[u8]) -> Result<(), String> {
    let Ok(value) = cosmos_binary::decode(bytes, &json::Limits::DEFAULT) else {
        return Ok(());
    };
    let again = json::parse(json::to_string(&value).as_bytes(), &json::Limits::DEFAULT);
    let again = again.map_err(|error| format!("printed JSON does not parse: {error}"))?;
    check(
        order::deep_equal(&value, &again),
        "printed JSON means something else",
    )?;
    written_in_binary(&value)
}

/// What is written in binary says what is written as text.
fn written_in_binary(value: &Value) -> Result<(), String> {
    const LIMITS: json::Limits = json::Limits {
        depth_max: json::DEPTH_CEILING,
        duplicates_refused: &[],
    };
    let text = json::parse(json::to_string(value).as_bytes(), &LIMITS);
    let binary = cosmos_binary::decode(&cosmos_binary::encode(value), &LIMITS);
    match (text, binary) {
        (Ok(text), Ok(binary)) => check(
            json::to_string(&text) == json::to_string(&binary),
            "binary JSON means something else than text",
        ),
        // Nesting that is too deep for one is too deep for the other.
        (Err(text), Err(binary)) => check(text.kind == binary.kind, "refused for other reasons"),
        (Ok(_), Err(error)) => Err(format!("written binary JSON does not decode: {error}")),
        (Err(error), Ok(_)) => Err(format!("printed JSON does not parse: {error}")),
    }
}
