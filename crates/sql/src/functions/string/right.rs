//! `RIGHT`: the last characters of a string.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::units;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    let count = usize::try_from(args::integer(args, 1)?.max(0)).ok()?;
    let length = units::length(text);
    Some(units::slice(text, length.saturating_sub(count), count))
}
