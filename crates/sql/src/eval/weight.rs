//! How much memory a value takes, roughly.

use lapsedb_value::Value;

/// Bytes of one value without what it owns.
const NODE_BYTES: u64 = size_of::<Value>() as u64;

/// Bytes of a member's name, short as most are.
const NAME_BYTES: u64 = 24;

/// The bytes that a value takes, near enough to limit them.
pub(crate) fn weight(value: &Value) -> u64 {
    // No value nests so deep: see [`weight_within`].
    weight_within(value, u16::MAX).unwrap_or(u64::MAX)
}

/// The same, unless the value nests deeper than so many levels.
pub(crate) fn weight_within(value: &Value, levels: u16) -> Option<u64> {
    let mut bytes = NODE_BYTES;
    match value {
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => bytes += text.len() as u64,
        Value::Array(items) => {
            let levels = levels.checked_sub(1)?;
            for item in items {
                bytes += weight_within(item, levels)?;
            }
        }
        Value::Object(object) => {
            let levels = levels.checked_sub(1)?;
            for (name, value) in object.iter() {
                bytes += name.len() as u64 + NAME_BYTES + weight_within(value, levels)?;
            }
        }
        Value::Binary { bytes: binary, .. } => bytes += binary.len() as u64,
        _ => {}
    }
    Some(bytes)
}
