//! `DateTimeFormat`: a time written by a format.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::DateTime;
use crate::functions::civil_format;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let time = DateTime::parse(args::text(args, 0)?)?;
    Some(Value::from(civil_format::format(
        time,
        args::text(args, 1)?,
    )))
}
