//! `IS_INTEGER`: whether the value is a whole number of 64 bits.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(Value::Bool(args::integer(args, 0).is_some()))
}
