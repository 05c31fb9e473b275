//! The values of number and string tokens.

use lapsedb_value::{Str, Value};

/// The value of a number token; none if it is too large for a double. What is not written as a whole number of 64 bits is a
/// double, also without a fraction.
pub(crate) fn number(text: &str) -> Option<Value> {
    let (whole, double): (Option<i64>, Option<f64>) = match text.get(..2) {
        Some("0x" | "0X") => hexadecimal(text),
        _ => (text.parse().ok(), text.parse().ok()),
    };
    match (whole, double) {
        (Some(whole), _) => Some(Value::from(whole)),
        (None, double) => double.filter(|n| n.is_finite()).map(Value::Double),
    }
}

/// The value of a number token that is written as a whole number of 64 bits.
pub(super) fn whole(text: &str) -> Option<i64> {
    match text.get(..2) {
        Some("0x" | "0X") => hexadecimal(text).0,
        _ => text.parse().ok(),
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
pub(super) fn string(token: &str) -> Str {
    let inner = token
        .get(1..token.len().saturating_sub(1))
        .unwrap_or_default();
    if !inner.contains('\\') {
        return Str::new(inner);
    }
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            text.extend(escape(&mut chars));
        } else {
            text.push(c);
        }
    }
    Str::from(text)
}

/// The end of a string token's part up to the character that makes one of its escapes wrong: `\u` needs four digits.
pub(crate) fn wrong_escape(token: &str) -> Option<usize> {
    let mut chars = token.char_indices();
    while let Some((_, c)) = chars.next() {
        if c != '\\' || chars.next().is_none_or(|(_, c)| c != 'u') {
            continue;
        }
        for _ in 0..4 {
            match chars.next() {
                Some((_, digit)) if digit.is_ascii_hexdigit() => {}
                Some((at, wrong)) => return Some(at + wrong.len_utf8()),
                None => return Some(token.len()),
            }
        }
    }
    None
}

/// What follows a backslash: any character stands for itself but those with a meaning. Half of a surrogate pair becomes the
/// replacement character, for it has no UTF-8.
fn escape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
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
        c => c,
    })
}

fn hex4(chars: &mut std::str::Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |sum, _| Some(sum * 16 + chars.next()?.to_digit(16)?))
}
