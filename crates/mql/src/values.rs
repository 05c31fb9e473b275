//! Small questions to values that many operators ask.

use lapsedb_value::Value;
use lapsedb_value::decimal128::Decimal128;

/// Whether an option given as a value is switched on: false, null, nothing and zero are not.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Undefined | Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Int32(n) => *n != 0,
        Value::Int64(n) => *n != 0,
        Value::Double(n) => *n != 0.0,
        Value::Decimal128(bytes) => !Decimal128::from_bytes(bytes).is_zero(),
        _ => true,
    }
}
