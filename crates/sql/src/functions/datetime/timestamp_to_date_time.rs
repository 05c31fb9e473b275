//! `TimestampToDateTime`: the time so many milliseconds after 1970.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::DateTime;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(DateTime::from_millis(args::integer(args, 0)?)?.to_value())
}
