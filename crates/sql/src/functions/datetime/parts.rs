//! Functions that take a date-time apart or put one together.

use lapsedb_value::Value;

use super::moment::{DateTime, Part};
use super::{moment_at, value};
use crate::functions::args::{self, Args};

/// The names of the day of the week, which only `DateTimePart` knows.
const WEEKDAY: [&str; 3] = ["weekday", "dw", "w"];

/// `DateTimePart`: a part of a date-time.
pub(crate) fn part(args: &Args<'_>) -> Option<Value> {
    let (name, moment) = (args::text(args, 0)?, moment_at(args, 1)?);
    if WEEKDAY.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Some(Value::from(moment.weekday()));
    }
    Some(Value::from(moment.part(Part::from_name(name)?)))
}

/// `YEAR`: the year of a date-time.
pub(crate) fn year(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(moment_at(args, 0)?.part(Part::Year)))
}

/// `MONTH`: the month of a date-time.
pub(crate) fn month(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(moment_at(args, 0)?.part(Part::Month)))
}

/// `DAY`: the day of a date-time.
pub(crate) fn day(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(moment_at(args, 0)?.part(Part::Day)))
}

/// `DateTimeFromParts`: a date-time from year, month, day, hour, minute, second and units of 100 ns.
pub(crate) fn from_parts(args: &Args<'_>) -> Option<Value> {
    let mut parts = [0; 7];
    for (at, part) in parts.iter_mut().enumerate().take(args.len()) {
        *part = args::integer(args, at)?;
    }
    Some(value(DateTime::from_parts(parts)?))
}
