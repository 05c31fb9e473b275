//! Angles.

use std::f64::consts::PI;

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// `ACOS`: the angle whose cosine is the number, in radians.
pub(crate) fn acos(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, f64::acos)
}

/// `ASIN`: the angle whose sine is the number, in radians.
pub(crate) fn asin(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, f64::asin)
}

/// `ATAN`: the angle whose tangent is the number, in radians.
pub(crate) fn atan(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, f64::atan)
}

/// `ATN2`: the angle of the tangent of y and x, in radians.
pub(crate) fn atn2(args: &Args<'_>) -> Option<Value> {
    let (y, x) = (args::number(args, 0)?, args::number(args, 1)?);
    Some(Value::Double(y.atan2(x)))
}

/// `COS`: the cosine of an angle in radians.
pub(crate) fn cos(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, f64::cos)
}

/// `COT`: the cotangent of an angle in radians.
pub(crate) fn cot(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, |x| 1.0 / x.tan())
}

/// `DEGREES`: an angle in degrees, from radians.
// Multiplied before it is divided, as the service does: the last digit depends on it.
pub(crate) fn degrees(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, |x| x * 180.0 / PI)
}

/// `PI`: the number pi.
pub(crate) fn pi(_: &Args<'_>) -> Option<Value> {
    Some(Value::Double(PI))
}

/// `RADIANS`: an angle in radians, from degrees.
pub(crate) fn radians(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, |x| x * PI / 180.0)
}

/// `SIN`: the sine of an angle in radians.
pub(crate) fn sin(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, f64::sin)
}

/// `TAN`: the tangent of an angle in radians.
pub(crate) fn tan(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, f64::tan)
}
