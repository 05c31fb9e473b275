//! `IS_PRIMITIVE`: whether the value is null, a boolean, a number or a string.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let value = args::any(args, 0);
    Some(Value::Bool(
        value.is_number() || matches!(value, Value::Null | Value::Bool(_) | Value::String(_)),
    ))
}
