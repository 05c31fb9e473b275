//! Whether and where a text contains another.

use lapsedb_value::Value;

use super::case::to_lower;
use crate::functions::args::{self, Args};
use crate::functions::{logic, units};

/// `CONTAINS`; the third argument ignores case.
pub(crate) fn contains(args: &Args<'_>) -> Option<Value> {
    compare(args, |text, wanted| text.contains(wanted))
}

/// `STARTSWITH`; the third argument ignores case.
pub(crate) fn starts_with(args: &Args<'_>) -> Option<Value> {
    compare(args, |text, wanted| text.starts_with(wanted))
}

/// `ENDSWITH`; the third argument ignores case.
pub(crate) fn ends_with(args: &Args<'_>) -> Option<Value> {
    compare(args, |text, wanted| text.ends_with(wanted))
}

/// `STRINGEQUALS`; the third argument ignores case.
pub(crate) fn equals(args: &Args<'_>) -> Option<Value> {
    compare(args, |text, wanted| text == wanted)
}

fn compare(args: &Args<'_>, found: fn(&str, &str) -> bool) -> Option<Value> {
    let (text, wanted) = (args::text(args, 0)?, args::text(args, 1)?);
    let found = if args::flag(args, 2)? {
        found(&to_lower(text), &to_lower(wanted))
    } else {
        found(text, wanted)
    };
    Some(Value::Bool(found))
}

/// `ContainsAllCi`.
pub(crate) fn contains_all_ci(args: &Args<'_>) -> Option<Value> {
    let text = to_lower(args::text(args, 0)?);
    logic::all(each(args, |wanted| text.contains(&to_lower(wanted)))).map(Value::Bool)
}

/// `ContainsAllCs`.
pub(crate) fn contains_all_cs(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    logic::all(each(args, |wanted| text.contains(wanted))).map(Value::Bool)
}

/// `ContainsAnyCi`.
pub(crate) fn contains_any_ci(args: &Args<'_>) -> Option<Value> {
    let text = to_lower(args::text(args, 0)?);
    logic::any(each(args, |wanted| text.contains(&to_lower(wanted)))).map(Value::Bool)
}

/// `ContainsAnyCs`.
pub(crate) fn contains_any_cs(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    logic::any(each(args, |wanted| text.contains(wanted))).map(Value::Bool)
}

/// What holds of each argument after the first; nothing for one that is no text.
fn each(args: &Args<'_>, found: impl Fn(&str) -> bool) -> impl Iterator<Item = Option<bool>> {
    args.iter()
        .skip(1)
        .map(move |wanted| wanted.as_str().map(&found))
}

/// `INDEX_OF`: the third argument is where the search begins.
pub(crate) fn index_of(args: &Args<'_>) -> Option<Value> {
    let (text, wanted) = (args::text(args, 0)?, args::text(args, 1)?);
    let from = match args.len() {
        0..=2 => 0,
        _ => args::integer(args, 2)?,
    };
    let from = usize::try_from(from)
        .ok()
        .filter(|from| *from <= units::length(text));
    let found = from.and_then(|from| {
        let start = units::byte_at(text, from);
        Some(start + text.get(start..)?.find(wanted)?)
    });
    Some(place(text, found))
}

/// `LastIndexOf`: an occurrence ends at the place that the third argument names, or before.
pub(crate) fn last_index_of(args: &Args<'_>) -> Option<Value> {
    let (text, wanted) = (args::text(args, 0)?, args::text(args, 1)?);
    if text.is_empty() {
        // The service does not even look at the third argument then.
        return Some(Value::Int32(if wanted.is_empty() { 0 } else { -1 }));
    }
    let length = units::length(text);
    let from = match args.len() {
        0..=2 => i64::try_from(length).ok()?,
        _ => args::integer(args, 2)?,
    };
    let Some(from) = usize::try_from(from).ok().filter(|from| *from <= length) else {
        return Some(Value::Int32(-1));
    };
    let end = from.saturating_add(1).min(length);
    if wanted.is_empty() {
        return Some(Value::from(i64::try_from(end.saturating_sub(1)).ok()?));
    }
    let found = text.get(..units::byte_at(text, end))?.rfind(wanted);
    Some(place(text, found))
}

/// The number of units before that byte; -1 for none.
fn place(text: &str, found: Option<usize>) -> Value {
    let units = found
        .and_then(|at| text.get(..at))
        .and_then(|before| i64::try_from(units::length(before)).ok());
    Value::from(units.unwrap_or(-1))
}
