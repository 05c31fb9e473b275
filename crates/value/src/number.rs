//! Numbers: the canonical kind of each, exact comparison between kinds, and their text.

mod sum;

use std::cmp::Ordering;

use crate::Value;

pub use sum::{Sum, midpoint};

/// The largest magnitude up to which every integer is a double: 2^53.
pub const INTEGER_MAX: i64 = 1 << 53;

/// 2^63 as a double: the first integer above the range of `i64`.
pub const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

/// The number as an integer, if it has no fraction and fits; exact or nothing.
#[inline]
pub fn to_i64_exact(n: f64) -> Option<i64> {
    // Both bounds are powers of two and so exact as doubles; the upper one is excluded because
    // 2^63 itself does not fit. NaN fails the range.
    let fits = (-TWO_POW_63..TWO_POW_63).contains(&n);
    (fits && n.trunc() == n).then_some(n as i64)
}

/// The number as a [`Value`] in its one canonical kind, see [`Value::number`].
pub fn canonical(n: f64) -> Value {
    to_i64_exact(n).map_or(Value::Double(n), Value::from)
}

/// The integer as a double, if that is exact.
#[inline]
pub fn to_f64_exact(n: i64) -> Option<f64> {
    let near = n as f64;
    (to_i64_exact(near) == Some(n)).then_some(near)
}

/// An operation on two numbers: exact where both are integers of 64 bits and the result is one, else on doubles.
///
/// `None` if one of them is no number, or the result is not finite.
#[inline]
pub fn combine(
    a: &Value,
    b: &Value,
    whole: fn(i64, i64) -> Option<i64>,
    double: fn(f64, f64) -> f64,
) -> Option<Value> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && let Some(exact) = whole(a, b)
    {
        return Some(Value::from(exact));
    }
    let result = double(a.as_f64()?, b.as_f64()?);
    result.is_finite().then(|| Value::number(result))
}

/// The integer, if it is kept as one. A double is none, even without a fraction.
#[inline]
pub fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int32(n) => Some(i64::from(*n)),
        Value::Int64(n) => Some(*n),
        _ => None,
    }
}

/// An operation on two numbers as SQL defines it: exact if both are kept as integers and the result fits 64 bits, else on
/// doubles. What was a double stays one, also without a fraction or beyond all finite numbers.
///
/// `None` if one of them is no number.
#[inline]
pub fn arithmetic(
    a: &Value,
    b: &Value,
    whole: fn(i64, i64) -> Option<i64>,
    double: fn(f64, f64) -> f64,
) -> Option<Value> {
    if let (Some(a), Some(b)) = (integer(a), integer(b))
        && let Some(exact) = whole(a, b)
    {
        return Some(Value::from(exact));
    }
    Some(Value::Double(double(a.as_f64()?, b.as_f64()?)))
}

/// The sum of two numbers, see [`combine`].
#[inline]
pub fn add(a: &Value, b: &Value) -> Option<Value> {
    combine(a, b, i64::checked_add, |a, b| a + b)
}

/// The order of two doubles in which NaN comes first and equals itself, and `-0` equals `0`.
pub fn compare_f64(a: f64, b: f64) -> Ordering {
    match a.partial_cmp(&b) {
        Some(order) => order,
        None => b.is_nan().cmp(&a.is_nan()),
    }
}

/// The exact order of an integer and a double: nothing is rounded, NaN comes first.
pub fn compare_i64_f64(a: i64, b: f64) -> Ordering {
    if b.is_nan() || b < -TWO_POW_63 {
        return Ordering::Greater;
    }
    if b >= TWO_POW_63 {
        return Ordering::Less;
    }
    let whole = b.trunc();
    a.cmp(&(whole as i64)).then_with(|| compare_f64(whole, b))
}

/// Pairs of digits, so that printing divides once per two of them.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Digits of the longest 64-bit number.
const DIGITS_MAX: usize = 20;

/// Appends the digits of a number.
#[inline]
pub fn write_u64(mut n: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; DIGITS_MAX];
    let mut at = DIGITS_MAX;
    while n >= 100 {
        let pair = (n % 100) as usize * 2;
        n /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if n >= 10 {
        let pair = n as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + n as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends the digits of a number, after a sign if it is negative.
#[inline]
pub fn write_i64(n: i64, out: &mut Vec<u8>) {
    if n < 0 {
        out.push(b'-');
    }
    write_u64(n.unsigned_abs(), out);
}

/// Appends the number: a 64-bit integer with all its digits (`3` and not `3.0`, `-0` as `0`), a larger number with an
/// exponent, and a fraction as ECMAScript prints it.
///
/// So equal numbers have the same text whatever their kind, and who reads a text gets the same number again, also if
/// he keeps integers and doubles apart: an integer beyond 64 bits never looks like one.
/// JSON has no text for NaN and the infinities; they leave as relaxed extended JSON.
pub fn write_f64(n: f64, out: &mut Vec<u8>) {
    match to_i64_exact(n) {
        Some(whole) => write_i64(whole, out),
        // ECMAScript prints digits up to here and an exponent from here on.
        None if n.abs() >= TWO_POW_63 && n.abs() < 1e21 => {
            out.extend_from_slice(format!("{n:e}").replace('e', "e+").as_bytes());
        }
        None if n.is_finite() => {
            let mut buffer = ryu_js::Buffer::new();
            out.extend_from_slice(buffer.format_finite(n).as_bytes());
        }
        None => {
            let name: &[u8] = match n.is_nan() {
                true => b"NaN",
                false if n > 0.0 => b"Infinity",
                false => b"-Infinity",
            };
            out.extend_from_slice(b"{\"$numberDouble\":\"");
            out.extend_from_slice(name);
            out.extend_from_slice(b"\"}");
        }
    }
}

/// The number as ECMAScript prints it, see [`write_f64`]; NaN and the infinities by name.
pub fn to_string(n: f64) -> String {
    ryu_js::Buffer::new().format(n).to_owned()
}
