//! `IS_DATETIME`: whether the value is a time as text.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::DateTime;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let valid = args::text(args, 0).is_some_and(|text| DateTime::parse(text).is_some());
    Some(Value::Bool(valid))
}
