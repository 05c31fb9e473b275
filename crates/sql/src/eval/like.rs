//! `LIKE`: the pattern becomes a regular expression, which takes linear time.

use super::Ctx;
use super::context::Dialect;
use crate::error::SqlError;
use crate::span::Span;

/// Whether the whole text matches the pattern.
pub(super) fn matches(
    ctx: &Ctx<'_>,
    text: &str,
    pattern: &str,
    escape: Option<char>,
    span: Span,
) -> Result<bool, SqlError> {
    match ctx.pattern(pattern, Dialect::Like(escape))? {
        Some(pattern) => Ok(pattern.is_match(text, ctx.budget())?),
        None => Err(SqlError::too_complex(
            "the pattern of LIKE is too large",
            span,
        )),
    }
}

/// What no text matches.
const NOTHING: &str = r"[^\s\S]";

/// `%` is any run, `_` any character, `[a-d]` and `[^a-d]` are classes; the rest stands for itself. A class that is empty or
/// never ends matches nothing, and so does its pattern.
pub(super) fn translate(pattern: &str, escape: Option<char>) -> String {
    let mut regex = String::with_capacity(pattern.len() + 8);
    regex.push('^');
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            literal(chars.next().unwrap_or(c), &mut regex);
            continue;
        }
        match c {
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '[' => match class(chars.as_str()) {
                Some((class, rest)) => {
                    regex.push_str(&class);
                    chars = rest.chars();
                }
                None => return NOTHING.to_owned(),
            },
            c => literal(c, &mut regex),
        }
    }
    regex.push('$');
    regex
}

fn literal(c: char, regex: &mut String) {
    regex.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
}

/// The class that begins after a bracket, and the pattern after it; nothing if it never ends or is empty.
fn class(pattern: &str) -> Option<(String, &str)> {
    let (body, rest) = pattern.split_once(']')?;
    let (negation, body) = match body.strip_prefix('^') {
        Some(body) => ("^", body),
        None => ("", body),
    };
    if body.is_empty() {
        return None;
    }
    let mut class = format!("[{negation}");
    let chars: Vec<char> = body.chars().collect();
    let mut at = 0;
    while let Some(&low) = chars.get(at) {
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(&high)) if low <= high => {
                range(low, high, &mut class);
                at += 3;
            }
            _ => {
                range(low, low, &mut class);
                at += 1;
            }
        }
    }
    class.push(']');
    Some((class, rest))
}

/// Written by code point, so that no character has a meaning of its own.
fn range(low: char, high: char, class: &mut String) {
    class.push_str(&format!(
        "\\x{{{:x}}}-\\x{{{:x}}}",
        u32::from(low),
        u32::from(high)
    ));
}
