//! What BSON's types are called in error texts.

use lapsedb_value::Value;

/// The name of a value's type.
pub(crate) const fn name(value: &Value) -> &'static str {
    match value {
        Value::Undefined => "undefined",
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int32(_) => "int",
        Value::Int64(_) => "long",
        Value::Double(_) => "double",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Date(_) => "date",
        Value::ObjectId(_) => "objectId",
        Value::Binary { .. } => "binData",
        Value::Decimal128(_) => "decimal",
        Value::Timestamp(_) => "timestamp",
        Value::Regex { .. } => "regex",
        Value::Code(_) => "javascript",
        Value::CodeWithScope { .. } => "javascriptWithScope",
        Value::Symbol(_) => "symbol",
        Value::DbPointer { .. } => "dbPointer",
        Value::MinKey => "minKey",
        Value::MaxKey => "maxKey",
    }
}
