//! Parts of texts, and their length.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::units;

/// `LENGTH`, in UTF-16 code units.
pub(crate) fn length(args: &Args<'_>) -> Option<Value> {
    let length = units::length(args::text(args, 0)?);
    Some(Value::from(i64::try_from(length).ok()?))
}

/// `LEFT`.
pub(crate) fn left(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    Some(units::slice(text, 0, count(args, 1)?))
}

/// `RIGHT`.
pub(crate) fn right(args: &Args<'_>) -> Option<Value> {
    let (text, count) = (args::text(args, 0)?, count(args, 1)?);
    let start = units::length(text).saturating_sub(count);
    Some(units::slice(text, start, count))
}

/// `SUBSTRING`: start, counted from 0, and length. Nothing is before the start of a text.
pub(crate) fn substring(args: &Args<'_>) -> Option<Value> {
    let (text, count) = (args::text(args, 0)?, count(args, 2)?);
    Some(match usize::try_from(args::integer(args, 1)?) {
        Ok(start) => units::slice(text, start, count),
        Err(_) => Value::from(""),
    })
}

/// `SubstringBefore`; undefined where the other text does not occur, as all four are.
pub(crate) fn before(args: &Args<'_>) -> Option<Value> {
    let (text, delimiter) = (args::text(args, 0)?, args::text(args, 1)?);
    text.split_once(delimiter)
        .map(|(part, _)| Value::from(part))
}

/// `SubstringAfter`.
pub(crate) fn after(args: &Args<'_>) -> Option<Value> {
    let (text, delimiter) = (args::text(args, 0)?, args::text(args, 1)?);
    text.split_once(delimiter)
        .map(|(_, part)| Value::from(part))
}

/// `LastSubstringBefore`.
pub(crate) fn before_last(args: &Args<'_>) -> Option<Value> {
    let (text, delimiter) = (args::text(args, 0)?, args::text(args, 1)?);
    text.rsplit_once(delimiter)
        .map(|(part, _)| Value::from(part))
}

/// `LastSubstringAfter`.
pub(crate) fn after_last(args: &Args<'_>) -> Option<Value> {
    let (text, delimiter) = (args::text(args, 0)?, args::text(args, 1)?);
    text.rsplit_once(delimiter)
        .map(|(_, part)| Value::from(part))
}

/// A number of characters; less than none is none.
fn count(args: &Args<'_>, at: usize) -> Option<usize> {
    usize::try_from(args::integer(args, at)?.max(0)).ok()
}
