//! The values of number and string tokens.

use lapsedb_value::{Str, Value};

use crate::error::SqlError;
use crate::lexer::Token;

/// The value of a number token. What is not written as a whole number of 64 bits is a double, also without a fraction.
pub(super) fn number(token: Token<'_>) -> Result<Value, SqlError> {
    let (whole, double): (Option<i64>, Option<f64>) = match token.text.get(..2) {
        Some("0x" | "0X") => hexadecimal(token.text),
        _ => (token.text.parse().ok(), token.text.parse().ok()),
    };
    match (whole, double) {
        (Some(whole), _) => Ok(Value::from(whole)),
        (None, Some(double)) if double.is_finite() => Ok(Value::Double(double)),
        (None, _) => Err(SqlError::number_literal(token.span)),
    }
}

/// The integer, if it fits 64 bits, and the nearest double.
fn hexadecimal(text: &str) -> (Option<i64>, Option<f64>) {
    let digits = text.get(2..).unwrap_or_default();
    let double = digits.chars().try_fold(0.0, |sum, digit| {
        Some(sum * 16.0 + f64::from(digit.to_digit(16)?))
    });
    (i64::from_str_radix(digits, 16).ok(), double)
}

/// The text of a string token: quotes taken off, escapes resolved.
pub(super) fn string(token: Token<'_>) -> Result<Str, SqlError> {
    let inner = token
        .text
        .get(1..token.text.len().saturating_sub(1))
        .unwrap_or_default();
    if !inner.contains('\\') {
        return Ok(Str::new(inner));
    }
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match escape(&mut chars) {
            Some(c) => text.push(c),
            None => return Err(SqlError::string_literal(token.span)),
        }
    }
    Ok(Str::from(text))
}

/// What follows a backslash. Half of a surrogate pair becomes the replacement character, for it has
/// no UTF-8.
fn escape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        c @ ('"' | '\'' | '\\' | '/') => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let first = hex4(chars)?;
            let mut rest = chars.clone();
            if (0xd800..0xdc00).contains(&first)
                && rest.next() == Some('\\')
                && rest.next() == Some('u')
                && let Some(second @ 0xdc00..0xe000) = hex4(&mut rest)
            {
                *chars = rest;
                return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
            char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => return None,
    })
}

fn hex4(chars: &mut std::str::Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |sum, _| Some(sum * 16 + chars.next()?.to_digit(16)?))
}
