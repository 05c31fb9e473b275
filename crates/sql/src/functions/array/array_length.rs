//! `ARRAY_LENGTH`: the number of elements of an array.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(Value::number(args::array(args, 0)?.len() as f64))
}
