//! `DAY`: the day of a time.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::{DateTime, Part};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(Value::number(
        DateTime::parse(args::text(args, 0)?)?.part(Part::Day) as f64,
    ))
}
