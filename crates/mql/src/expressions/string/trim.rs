//! `$trim`: a text without white space, or other signs, at both ends.

use std::collections::HashSet;

use super::*;

pub(crate) const FORM: Form = Form::Named(&FIELDS, run);

pub(super) const FIELDS: Fields = Fields {
    names: &[("input", 50695), ("chars", OPTIONAL)],
    not_object: 50696,
    unknown: 50694,
};

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    trim("$trim", args, true, true)
}

/// The signs that are white space here: those of ASCII, NUL, and some wide ones.
fn is_blank(sign: char) -> bool {
    matches!(
        sign,
        '\0' | ' ' | '\t'..='\r' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}'
    )
}

pub(super) fn trim(operator: &str, args: &NamedArgs<'_>, left: bool, right: bool) -> Result<Value> {
    let input = match named(args, 0) {
        Value::String(text) => text,
        other if is_nullish(other) => return Ok(Value::Null),
        other => {
            let found = type_name(other);
            let message = format!(
                "{operator} requires its input to be a string, got {other} (of type {found}) instead."
            );
            return Err(MqlError::new(50699, message));
        }
    };
    let chars = match args.get(1).and_then(Option::as_deref) {
        None => None,
        Some(Value::String(chars)) => Some(chars),
        Some(other) if is_nullish(other) => return Ok(Value::Null),
        Some(other) => {
            let found = type_name(other);
            let message = format!(
                "{operator} requires 'chars' to be a string, got {other} (of type {found}) instead."
            );
            return Err(MqlError::new(50700, message));
        }
    };
    // Each sign of the text is looked up, however many there are to be removed.
    let chars: Option<HashSet<char>> = chars.map(|chars| chars.chars().collect());
    let goes = |sign: char| match &chars {
        Some(chars) => chars.contains(&sign),
        None => is_blank(sign),
    };
    let mut text = input.as_str();
    if left {
        text = text.trim_start_matches(goes);
    }
    if right {
        text = text.trim_end_matches(goes);
    }
    Ok(Value::from(text))
}
