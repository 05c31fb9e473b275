//! How much memory a value takes, roughly.

use lapsedb_value::Value;

/// Bytes of one value without what it owns.
const NODE_BYTES: u64 = size_of::<Value>() as u64;

/// Bytes of a member's name, short as most are.
const NAME_BYTES: u64 = 24;

/// The bytes that a value takes, near enough to limit them.
pub(crate) fn weight(value: &Value) -> u64 {
    let owned = match value {
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| name.len() as u64 + NAME_BYTES + weight(value))
            .sum(),
        Value::Binary { bytes, .. } => bytes.len() as u64,
        _ => 0,
    };
    NODE_BYTES + owned
}
