//! Signs and roundings. An integer needs none and stays exact.

use lapsedb_value::{Value, number};

use crate::functions::args::{self, Args};

/// `ABS`: the absolute value of a number.
pub(crate) fn abs(args: &Args<'_>) -> Option<Value> {
    match number::integer(args::any(args, 0)).and_then(i64::checked_abs) {
        Some(whole) => Some(Value::from(whole)),
        None => args::map_number(args, f64::abs),
    }
}

/// `CEILING`: the smallest whole number not below the number.
pub(crate) fn ceiling(args: &Args<'_>) -> Option<Value> {
    unless_integer(args, f64::ceil)
}

/// `FLOOR`: the largest whole number not above the number.
pub(crate) fn floor(args: &Args<'_>) -> Option<Value> {
    unless_integer(args, f64::floor)
}

/// `NumberBin`: a number rounded down to a multiple of the bin size, which is 1 unless it is given.
pub(crate) fn number_bin(args: &Args<'_>) -> Option<Value> {
    let one = Value::Int32(1);
    let size = if args.len() > 1 {
        args::any(args, 1)
    } else {
        &one
    };
    let value = args::any(args, 0);
    if let (Some(value), Some(size)) = (number::integer(value), number::integer(size)) {
        return bin(value, size).map(Value::from);
    }
    let (value, size) = (value.as_f64()?, size.as_f64()?);
    (size != 0.0).then(|| Value::Double((value / size).floor() * size))
}

/// The multiple of the size whose factor is the quotient rounded down. It wraps around beyond 64 bits, as in the service.
fn bin(value: i64, size: i64) -> Option<i64> {
    if size == 0 {
        return None;
    }
    let rest = value.wrapping_rem(size);
    let below = rest != 0 && (rest < 0) != (size < 0);
    let factor = value.wrapping_div(size).wrapping_sub(i64::from(below));
    Some(factor.wrapping_mul(size))
}

/// `ROUND`: a number rounded to a whole one, or to some digits, half away from zero.
pub(crate) fn round(args: &Args<'_>) -> Option<Value> {
    let digits = if args.len() > 1 {
        args::integer(args, 1)?
    } else {
        0
    };
    match digits {
        0 => unless_integer(args, f64::round),
        1.. if number::integer(args::any(args, 0)).is_some() => Some(args::any(args, 0).clone()),
        // With so many digits that the scale is infinite or zero this is no number any more, as in the service.
        _ => {
            let scale = 10f64.powf(digits as f64);
            let x = args::number(args, 0)?;
            Some(Value::Double((x * scale).round() / scale))
        }
    }
}

/// `SIGN`: -1, 0 or 1, as the number is negative, zero or positive.
pub(crate) fn sign(args: &Args<'_>) -> Option<Value> {
    let x = args::number(args, 0)?;
    Some(Value::Int32(i32::from(x > 0.0) - i32::from(x < 0.0)))
}

/// `TRUNC`: a number without its fraction.
pub(crate) fn trunc(args: &Args<'_>) -> Option<Value> {
    unless_integer(args, f64::trunc)
}

fn unless_integer(args: &Args<'_>, round: fn(f64) -> f64) -> Option<Value> {
    match args::any(args, 0) {
        Value::Double(n) => Some(Value::Double(round(*n))),
        value => value.is_number().then(|| value.clone()),
    }
}
