//! `DateTimeToTicks`: a time in units of 100 ns since 1970.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::DateTime;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(DateTime::parse(args::text(args, 0)?)?.ticks()))
}
