//! `StringToNumber`: the number that a string says in JSON, or with zeros before its digits.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let blank = [' ', '\t', '\n', '\r'];
    let text = args::text(args, 0)?.trim_matches(blank);
    let rest = digits(text.strip_prefix('-').unwrap_or(text))?;
    let fraction = rest.strip_prefix('.').map_or(Some(rest), digits)?;
    let exponent = fraction.strip_prefix(['e', 'E']);
    let end = match exponent {
        Some(exponent) => digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))?,
        None => fraction,
    };
    if !end.is_empty() {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    let double: f64 = text.parse().ok()?;
    double.is_finite().then_some(Value::Double(double))
}

/// What follows the digits at the start; nothing if there are none.
fn digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}
