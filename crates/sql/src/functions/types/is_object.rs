//! `IS_OBJECT`: whether the value is an object.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let value = args::any(args, 0);
    let other = value.is_number()
        || matches!(
            value,
            Value::Undefined | Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_)
        );
    // What only BSON knows is shown as an object, and so counts as one.
    Some(Value::Bool(!other))
}
