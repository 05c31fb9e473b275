//! Numbers: the canonical kind of each, exact comparisons between kinds, and ECMAScript text.

use crate::Value;

/// The largest magnitude up to which every integer is a double: 2^53.
pub const INTEGER_MAX: i64 = 1 << 53;

/// The number as an integer, if it has no fraction and fits; exact or nothing.
pub fn to_i64_exact(n: f64) -> Option<i64> {
    // Both bounds are powers of two and so exact as doubles; the upper one is excluded because
    // 2^63 itself does not fit. NaN fails the range.
    let fits = n >= -9_223_372_036_854_775_808.0 && n < 9_223_372_036_854_775_808.0;
    (fits && n.trunc() == n).then_some(n as i64)
}

/// The number as a [`Value`] in its one canonical kind, see [`Value::number`].
pub fn canonical(n: f64) -> Value {
    match to_i64_exact(n) {
        Some(whole) => match i32::try_from(whole) {
            Ok(small) => Value::Int32(small),
            Err(_) if whole.abs() <= INTEGER_MAX => Value::Int64(whole),
            Err(_) => Value::Double(n),
        },
        None => Value::Double(n),
    }
}
