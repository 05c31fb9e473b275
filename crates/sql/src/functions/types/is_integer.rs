//! `IS_INTEGER`: whether the value is a whole number of 64 bits.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// 2^63. Included, because the largest integer itself reads as this double.
const LIMIT: f64 = 9_223_372_036_854_775_808.0;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let whole = args::number(args, 0).is_some_and(|n| n.trunc() == n && n.abs() <= LIMIT);
    Some(Value::Bool(whole))
}
