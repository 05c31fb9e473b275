//! Arithmetic and bits of 64-bit integers. What leaves 64 bits wraps around.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// The bits of a shift's count that matter: a count of 64 is one of 0, and one of -1 is one of 63.
const SHIFT_MASK: i64 = 63;

/// `IntAdd`: the sum of two 64-bit integers.
pub(crate) fn add(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| Some(a.wrapping_add(b)))
}

/// `IntBitAnd`: the bits set in both of two 64-bit integers.
pub(crate) fn bit_and(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| Some(a & b))
}

/// `IntBitLeftShift`: a 64-bit integer with its bits moved left.
pub(crate) fn bit_left_shift(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| Some(a.wrapping_shl((b & SHIFT_MASK) as u32)))
}

/// `IntBitNot`: a 64-bit integer with all bits flipped.
pub(crate) fn bit_not(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(!args::integer(args, 0)?))
}

/// `IntBitOr`: the bits set in either of two 64-bit integers.
pub(crate) fn bit_or(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| Some(a | b))
}

/// `IntBitRightShift`: a 64-bit integer with its bits moved right; the sign stays.
pub(crate) fn bit_right_shift(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| Some(a.wrapping_shr((b & SHIFT_MASK) as u32)))
}

/// `IntBitXor`: the bits set in one of two 64-bit integers.
pub(crate) fn bit_xor(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| Some(a ^ b))
}

/// `IntDiv`: the quotient of two 64-bit integers; undefined for a divisor of 0.
pub(crate) fn div(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| (b != 0).then(|| a.wrapping_div(b)))
}

/// `IntMod`: the remainder of two 64-bit integers; undefined for a divisor of 0.
pub(crate) fn rem(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| (b != 0).then(|| a.wrapping_rem(b)))
}

/// `IntMul`: the product of two 64-bit integers.
pub(crate) fn mul(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| Some(a.wrapping_mul(b)))
}

/// `IntSub`: the difference of two 64-bit integers.
pub(crate) fn sub(args: &Args<'_>) -> Option<Value> {
    of_two(args, |a, b| Some(a.wrapping_sub(b)))
}

fn of_two(args: &Args<'_>, op: fn(i64, i64) -> Option<i64>) -> Option<Value> {
    op(args::integer(args, 0)?, args::integer(args, 1)?).map(Value::from)
}
