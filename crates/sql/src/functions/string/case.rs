//! Upper and lower case. One character becomes one character: what has no counterpart of a single character stays as it is.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// `LOWER`.
pub(crate) fn lower(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(to_lower(args::text(args, 0)?)))
}

/// `UPPER`.
pub(crate) fn upper(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    Some(Value::from(if text.is_ascii() {
        text.to_ascii_uppercase()
    } else {
        text.chars().map(|c| single(c, c.to_uppercase())).collect()
    }))
}

/// A text in lower case, which is how texts are compared whose case does not matter.
pub(super) fn to_lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(|c| single(c, c.to_lowercase())).collect()
}

fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}
