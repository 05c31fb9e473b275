//! `DateTimeDiff`: how many boundaries of a part lie between two times.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::{DateTime, Part};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let part = Part::from_name(args::text(args, 0)?)?;
    let start = DateTime::parse(args::text(args, 1)?)?;
    let end = DateTime::parse(args::text(args, 2)?)?;
    Some(Value::from(end.count(part)? - start.count(part)?))
}
