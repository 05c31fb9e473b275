//! Functions that reckon with date-times, and time spans such as `1d`.

use lapsedb_value::Value;

use super::moment::{DateTime, Part};
use super::{moment_at, value};
use crate::error::SqlError;
use crate::functions::args::{self, Args};
use crate::plan::Expr;
use crate::span::Span;

/// `DateTimeAdd`: a date-time with some parts or a time span added.
pub(crate) fn add(args: &Args<'_>) -> Option<Value> {
    let is_span = args.len() < 3;
    let (part, count) = amount(args, is_span)?;
    let moment = moment_at(args, if is_span { 1 } else { 2 })?;
    Some(value(moment.plus(part, count)?))
}

/// `DateTimeDiff`: how many boundaries of a part lie between two date-times.
pub(crate) fn diff(args: &Args<'_>) -> Option<Value> {
    let part = Part::from_name(args::text(args, 0)?)?;
    let (start, end) = (moment_at(args, 1)?, moment_at(args, 2)?);
    Some(Value::from(start.boundaries_until(part, end)?))
}

/// `DateTimeBin`: the start of the bin of so many parts that a date-time is in.
pub(crate) fn bin(args: &Args<'_>) -> Option<Value> {
    let moment = moment_at(args, 0)?;
    let part = Part::from_name(args::text(args, 1)?)?;
    let size = if args.len() > 2 {
        args::integer(args, 2)?
    } else {
        1
    };
    let origin = if args.len() > 3 {
        moment_at(args, 3)?
    } else {
        DateTime::EPOCH
    };
    Some(value(moment.bin(part, size, origin)?))
}

/// The part and the count that a function adds: its first argument is a time span, or it is a part with the count after it.
pub(super) fn amount(args: &Args<'_>, is_span: bool) -> Option<(Part, i64)> {
    let first = args::text(args, 0)?;
    if is_span {
        let (count, unit) = time_span(first)?;
        return Some((Part::from_name(unit)?, count));
    }
    Some((Part::from_name(first)?, args::integer(args, 1)?))
}

/// The count and the unit of a time span such as `1d` or `-30mi`. Whether the unit is the name of a part is another
/// question: the service accepts `1h`, which is no time span of anything.
fn time_span(text: &str) -> Option<(i64, &str)> {
    let unit = text.trim_start_matches(['+', '-']);
    let unit = unit.trim_start_matches(|c: char| c.is_ascii_digit());
    let count = text.strip_suffix(unit)?.parse().ok()?;
    let is_word = !unit.is_empty() && unit.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_word.then_some((count, unit))
}

/// Refuses a call of `DateTimeAdd` with two arguments unless the first is a time span.
pub(crate) fn check_add(args: &[Expr], span: Span) -> Result<(), SqlError> {
    check_first(args, 2, span)
}

/// Refuses a call of `Now` or `Ago` with one argument unless it is a time span.
pub(crate) fn check_shift(args: &[Expr], span: Span) -> Result<(), SqlError> {
    check_first(args, 1, span)
}

/// Time spans are read when the query is compiled, so one that depends on the document is refused as well.
fn check_first(args: &[Expr], count: usize, span: Span) -> Result<(), SqlError> {
    let Some(first) = args.first().filter(|_| args.len() == count) else {
        return Ok(());
    };
    let text = first.constant().and_then(Value::as_str);
    match text.and_then(time_span) {
        Some(_) => Ok(()),
        None => Err(SqlError::invalid_timespan(span)),
    }
}

#[cfg(test)]
mod tests {
    use super::time_span;

    #[test]
    fn a_time_span_is_a_whole_number_and_a_word() {
        for (text, count, unit) in [
            ("1d", 1, "d"),
            ("-30mi", -30, "mi"),
            ("+7YYYY", 7, "YYYY"),
            ("0h", 0, "h"),
            ("9223372036854775807ns", i64::MAX, "ns"),
            ("-9223372036854775808ns", i64::MIN, "ns"),
        ] {
            assert_eq!(time_span(text), Some((count, unit)), "{text}");
        }
        for text in [
            "",
            "d",
            "1",
            "-",
            "-d",
            "--1d",
            "+-1d",
            "P1D",
            "1 d",
            " 1d",
            "1d ",
            "1.5d",
            "1d2h",
            "1é",
            "١d",
            "9223372036854775808d",
            "01:00:00",
        ] {
            assert_eq!(time_span(text), None, "{text}");
        }
    }
}
