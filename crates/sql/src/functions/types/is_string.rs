//! `IS_STRING`: whether the value is a string.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let value = args::any(args, 0);
    Some(Value::Bool(matches!(value, Value::String(_))))
}
