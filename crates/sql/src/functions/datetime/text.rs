//! Functions that turn a date-time into other forms and back.

use lapsedb_value::Value;

use super::moment::{DateTime, TICKS_PER_MILLISECOND};
use super::{moment_at, notation, value};
use crate::functions::args::{self, Args};
use crate::limits::STRING_BYTES_MAX;

/// `IS_DATETIME`: whether the value is a text that says a date-time.
pub(crate) fn is_datetime(args: &Args<'_>) -> Option<Value> {
    Some(Value::Bool(moment_at(args, 0).is_some()))
}

/// `DateTimeFormat`: a date-time written by a format.
pub(crate) fn format(args: &Args<'_>) -> Option<Value> {
    formatted(moment_at(args, 0)?, args::text(args, 1)?)
}

/// `DateTimeToTicks`: a date-time in units of 100 ns since 1970.
pub(crate) fn to_ticks(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(moment_at(args, 0)?.ticks()))
}

/// `DateTimeToTimestamp`: a date-time in milliseconds since 1970. What is left is dropped, so that the last millisecond
/// before 1970 counts as 0.
pub(crate) fn to_timestamp(args: &Args<'_>) -> Option<Value> {
    let ticks = moment_at(args, 0)?.ticks();
    Some(Value::from(ticks / TICKS_PER_MILLISECOND))
}

/// `TicksToDateTime`: the date-time so many units of 100 ns after 1970, perhaps by a format.
pub(crate) fn from_ticks(args: &Args<'_>) -> Option<Value> {
    written(DateTime::from_ticks(args::integer(args, 0)?)?, args)
}

/// `TimestampToDateTime`: the date-time so many milliseconds after 1970, perhaps by a format.
pub(crate) fn from_timestamp(args: &Args<'_>) -> Option<Value> {
    written(DateTime::from_millis(args::integer(args, 0)?)?, args)
}

/// The moment by the format that is the second argument, if there is one.
fn written(moment: DateTime, args: &Args<'_>) -> Option<Value> {
    if args.len() > 1 {
        formatted(moment, args::text(args, 1)?)
    } else {
        Some(value(moment))
    }
}

fn formatted(moment: DateTime, pattern: &str) -> Option<Value> {
    let text = notation::format(moment, pattern);
    (text.len() <= STRING_BYTES_MAX).then(|| Value::from(text))
}
