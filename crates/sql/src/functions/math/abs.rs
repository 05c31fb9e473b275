//! `ABS`: the absolute value of a number.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    match args::integer(args, 0).and_then(i64::checked_abs) {
        Some(whole) => Some(Value::from(whole)),
        None => args::finite(args::number(args, 0)?.abs()),
    }
}
