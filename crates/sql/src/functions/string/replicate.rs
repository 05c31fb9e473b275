//! `REPLICATE`: a string repeated.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::units;
use crate::limits::REPLICATE_CHARS_MAX;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    let times = usize::try_from(args::integer(args, 1)?).ok()?;
    if units::length(text).saturating_mul(times) > REPLICATE_CHARS_MAX {
        return None;
    }
    Some(Value::from(text.repeat(times)))
}
