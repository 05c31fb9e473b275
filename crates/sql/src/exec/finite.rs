//! Rows without the numbers that JSON cannot say.

use lapsedb_value::{Object, Value};

/// Whether no number in the value is NaN or an infinity.
pub(crate) fn is_finite(value: &Value) -> bool {
    match value {
        Value::Double(n) => n.is_finite(),
        Value::Array(items) => items.iter().all(is_finite),
        Value::Object(object) => object.values().all(is_finite),
        _ => true,
    }
}

/// The value without NaN and the infinities: what is one is undefined, and members and elements that are one are left out.
pub(super) fn finite(value: Value) -> Value {
    match value {
        Value::Double(n) if !n.is_finite() => Value::Undefined,
        Value::Array(items) => {
            let items = items.into_iter().map(finite);
            Value::Array(items.filter(|item| !item.is_undefined()).collect())
        }
        Value::Object(object) => {
            let mut kept = Object::with_capacity(object.len());
            for (name, value) in object {
                match finite(value) {
                    Value::Undefined => {}
                    value => kept.push(name, value),
                }
            }
            Value::Object(kept)
        }
        value => value,
    }
}
