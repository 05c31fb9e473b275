//! `LENGTH`: the number of characters of a string, in UTF-16 code units.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(Value::number(
        crate::functions::units::length(args::text(args, 0)?) as f64,
    ))
}
