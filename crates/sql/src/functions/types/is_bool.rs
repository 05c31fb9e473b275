//! `IS_BOOL`: whether the value is a boolean.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let value = args::any(args, 0);
    Some(Value::Bool(matches!(value, Value::Bool(_))))
}
