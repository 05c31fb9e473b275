//! `DateTimeAdd`: a time with some parts added.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::{DateTime, Part};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let part = Part::from_name(args::text(args, 0)?)?;
    let count = args::integer(args, 1)?;
    Some(
        DateTime::parse(args::text(args, 2)?)?
            .plus(part, count)?
            .to_value(),
    )
}
