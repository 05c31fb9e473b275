//! Values as text, in the two ways expressions do it.

use super::*;
use crate::expressions::date::iso_text;

/// Digits that a double keeps as text.
const DOUBLE_DIGITS: usize = 6;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The text that string operators see in a value: nothing in null, digits in a number, the ISO form of a date.
pub(crate) fn loose_text(value: &Value) -> Result<String> {
    match value {
        Value::Null | Value::Undefined => Ok(String::new()),
        Value::String(text) | Value::Symbol(text) | Value::Code(text) => Ok(text.to_string()),
        Value::Int32(n) => Ok(n.to_string()),
        Value::Int64(n) => Ok(n.to_string()),
        Value::Double(n) if n.is_infinite() => Ok(if *n > 0.0 { "inf" } else { "-inf" }.to_owned()),
        Value::Double(n) => Ok(double_text(*n)),
        Value::Decimal128(bytes) => Ok(Decimal128::from_bytes(bytes).to_string()),
        Value::Date(millis) => Ok(iso_text(*millis)),
        Value::Timestamp(stamp) => Ok(stamp_text(*stamp)),
        other => {
            let found = type_name(other);
            let message = format!("can't convert from BSON type {found} to String");
            Err(MqlError::new(16007, message))
        }
    }
}

/// Month, day and time of day, then the ordinal.
fn stamp_text(stamp: u64) -> String {
    let seconds = (stamp >> 32) as i64;
    let time = crate::expressions::date::Civil::from_millis(seconds * 1000);
    let month = usize::try_from(time.month - 1)
        .ok()
        .and_then(|at| MONTHS.get(at));
    format!(
        "{} {:2} {:02}:{:02}:{:02}:{:x}",
        month.unwrap_or(&""),
        time.day,
        time.hour,
        time.minute,
        time.second,
        stamp as u32
    )
}

/// A double as C prints it with `%g`: six digits, an exponent where the number is very small or large.
pub(crate) fn double_text(n: f64) -> String {
    if n.is_nan() {
        return "NaN".to_owned();
    }
    if n.is_infinite() {
        return if n > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if n == 0.0 {
        return if n.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{:.*e}", DOUBLE_DIGITS - 1, n);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..DOUBLE_DIGITS as i32).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(digits), exponent.abs());
    }
    let places = (DOUBLE_DIGITS as i32 - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{n:.places$}")).to_owned()
}

fn without_zeros(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}
