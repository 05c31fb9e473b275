//! Texts without what is not wanted at their ends: blanks, or the characters of the second argument if there are any.

use std::collections::HashSet;

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// `TRIM`.
pub(crate) fn both(args: &Args<'_>) -> Option<Value> {
    trim(args, true, true)
}

/// `LTRIM`.
pub(crate) fn left(args: &Args<'_>) -> Option<Value> {
    trim(args, true, false)
}

/// `RTRIM`.
pub(crate) fn right(args: &Args<'_>) -> Option<Value> {
    trim(args, false, true)
}

fn trim(args: &Args<'_>, start: bool, end: bool) -> Option<Value> {
    let mut text = args::text(args, 0)?;
    // A set, so that many unwanted characters cost no more than few.
    let unwanted: HashSet<char> = args::text_or(args, 1, "")?.chars().collect();
    let is_unwanted = |c: char| match unwanted.is_empty() {
        true => c.is_whitespace(),
        false => unwanted.contains(&c),
    };
    if start {
        text = text.trim_start_matches(is_unwanted);
    }
    if end {
        text = text.trim_end_matches(is_unwanted);
    }
    Some(Value::from(text))
}
