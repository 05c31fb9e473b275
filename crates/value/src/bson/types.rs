//! The names and numbers that MongoDB gives to types.

use super::kind;
use crate::Value;

/// Every type with its alias, in the order of the numbers.
const ALIASES: [(&str, i32); 21] = [
    ("minKey", -1),
    ("double", kind::DOUBLE as i32),
    ("string", kind::STRING as i32),
    ("object", kind::DOCUMENT as i32),
    ("array", kind::ARRAY as i32),
    ("binData", kind::BINARY as i32),
    ("undefined", kind::UNDEFINED as i32),
    ("objectId", kind::OBJECT_ID as i32),
    ("bool", kind::BOOL as i32),
    ("date", kind::DATE as i32),
    ("null", kind::NULL as i32),
    ("regex", kind::REGEX as i32),
    ("dbPointer", kind::DB_POINTER as i32),
    ("javascript", kind::CODE as i32),
    ("symbol", kind::SYMBOL as i32),
    ("javascriptWithScope", kind::CODE_WITH_SCOPE as i32),
    ("int", kind::INT32 as i32),
    ("timestamp", kind::TIMESTAMP as i32),
    ("long", kind::INT64 as i32),
    ("decimal", kind::DECIMAL128 as i32),
    ("maxKey", kind::MAX_KEY as i32),
];

/// The number of a value's type; the absence of a value has the number of `undefined`.
pub fn type_number(value: &Value) -> i32 {
    match super::write::kind_of(value) {
        kind::MIN_KEY => -1,
        number => i32::from(number),
    }
}

/// The alias of a value's type; the absence of a value is `missing`.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Undefined => "missing",
        _ => type_alias(type_number(value)).unwrap_or("missing"),
    }
}

/// The alias of a type's number.
pub fn type_alias(number: i32) -> Option<&'static str> {
    let found = ALIASES.iter().find(|(_, of)| *of == number);
    found.map(|(name, _)| *name)
}

/// The number of a type's alias; `number` is no type but several.
pub fn type_by_alias(alias: &str) -> Option<i32> {
    let found = ALIASES.iter().find(|(name, _)| *name == alias);
    found.map(|(_, number)| *number)
}
