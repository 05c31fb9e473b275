//! `DateTimeToTimestamp`: a time in milliseconds since 1970.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::DateTime;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let ticks = DateTime::parse(args::text(args, 0)?)?.ticks();
    Some(Value::number(ticks.div_euclid(10_000) as f64))
}
