//! Operators with two operands.

use std::cmp::Ordering;

use lapsedb_value::order::{compare_sql, deep_equal};
use lapsedb_value::{Str, Value, number};

use crate::ast::BinaryOp;
use crate::limits::STRING_BYTES_MAX;

/// The result of an operator; undefined where the operands do not suit it.
pub(super) fn binary(op: BinaryOp, a: &Value, b: &Value) -> Value {
    match op {
        BinaryOp::Multiply => arithmetic(a, b, i64::checked_mul, |x, y| x * y),
        BinaryOp::Divide => arithmetic(a, b, divide_exactly, |x, y| x / y),
        BinaryOp::Modulo => arithmetic(a, b, i64::checked_rem, |x, y| x % y),
        BinaryOp::Add => arithmetic(a, b, i64::checked_add, |x, y| x + y),
        BinaryOp::Subtract => arithmetic(a, b, i64::checked_sub, |x, y| x - y),
        BinaryOp::ShiftLeft => bits(a, b, |x, y| x.wrapping_shl(y as u32)),
        BinaryOp::ShiftRight => bits(a, b, |x, y| x.wrapping_shr(y as u32)),
        // Other than in JavaScript the result is signed: -1 >>> 0 is -1.
        BinaryOp::ShiftRightZero => bits(a, b, |x, y| (x as u32).wrapping_shr(y as u32) as i32),
        BinaryOp::BitAnd => bits(a, b, |x, y| x & y),
        BinaryOp::BitXor => bits(a, b, |x, y| x ^ y),
        BinaryOp::BitOr => bits(a, b, |x, y| x | y),
        BinaryOp::Less => comparison(a, b, Ordering::is_lt),
        BinaryOp::LessOrEqual => comparison(a, b, Ordering::is_le),
        BinaryOp::Greater => comparison(a, b, Ordering::is_gt),
        BinaryOp::GreaterOrEqual => comparison(a, b, Ordering::is_ge),
        BinaryOp::Equal => equality(a, b, true),
        BinaryOp::NotEqual => equality(a, b, false),
        BinaryOp::Concat => concat(a, b),
    }
}

/// The number as JavaScript's bit operators take it: whole, modulo 2^32; NaN and the infinities are 0.
pub(super) fn to_int32(n: f64) -> i32 {
    if !n.is_finite() {
        return 0;
    }
    let modulo = n.trunc().rem_euclid(4_294_967_296.0);
    // The remainder lies in [0, 2^32], the upper bound only by rounding, and saturates harmlessly.
    (modulo as u32) as i32
}

/// Whether the order of two values passes a test; `None` unless both are null, boolean, number or string.
pub(super) fn compare(a: &Value, b: &Value, test: fn(Ordering) -> bool) -> Option<bool> {
    let alike = match (a, b) {
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::String(_), Value::String(_)) => true,
        _ => a.is_number() && b.is_number(),
    };
    alike.then(|| !is_nan(a) && !is_nan(b) && test(compare_sql(a, b)))
}

/// Whether two values are equal. NaN equals nothing here, other than where values are sorted, grouped or made distinct.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    deep_equal(a, b) && !is_nan(a)
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Double(n) if n.is_nan())
}

fn arithmetic(
    a: &Value,
    b: &Value,
    whole: fn(i64, i64) -> Option<i64>,
    double: fn(f64, f64) -> f64,
) -> Value {
    number::arithmetic(a, b, whole, double).unwrap_or_default()
}

/// The quotient, if it has no fraction.
fn divide_exactly(a: i64, b: i64) -> Option<i64> {
    a.checked_div(b).filter(|quotient| quotient * b == a)
}

fn bits(a: &Value, b: &Value, op: fn(i32, i32) -> i32) -> Value {
    match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) => Value::Int32(op(to_int32(x), to_int32(y))),
        _ => Value::Undefined,
    }
}

fn comparison(a: &Value, b: &Value, test: fn(Ordering) -> bool) -> Value {
    compare(a, b, test).map_or(Value::Undefined, Value::Bool)
}

/// Values of different types are different, not incomparable: `c.x != null` finds all that have x.
fn equality(a: &Value, b: &Value, wanted: bool) -> Value {
    if a.is_undefined() || b.is_undefined() {
        return Value::Undefined;
    }
    Value::Bool(equal(a, b) == wanted)
}

fn concat(a: &Value, b: &Value) -> Value {
    match (a.as_str(), b.as_str()) {
        (Some(x), Some(y)) if x.len() + y.len() <= STRING_BYTES_MAX => {
            let mut text = Str::with_capacity(x.len() + y.len());
            text.push_str(x);
            text.push_str(y);
            Value::String(text)
        }
        _ => Value::Undefined,
    }
}
