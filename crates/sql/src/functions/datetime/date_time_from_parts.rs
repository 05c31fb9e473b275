//! `DateTimeFromParts`: a time from year, month, day, hour, minute, second and units of 100 ns.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::DateTime;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let mut parts = [0; 7];
    for (at, part) in parts.iter_mut().enumerate().take(args.len()) {
        *part = args::integer(args, at)?;
    }
    Some(DateTime::from_parts(parts)?.to_value())
}
