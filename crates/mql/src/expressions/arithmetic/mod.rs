//! Arithmetic over the four kinds of number.

use lapsedb_value::Value;
use lapsedb_value::decimal128::{DIGITS_MAX, Decimal128};

use super::form::{Args, Form, any_nullish, is_nullish};
use super::numeric::{Num, Pair, decimal, floor, is_numeric, narrow, truncate_to};
use super::values::type_name;
use crate::accumulators::sum::Sum;
use crate::{MqlError, Result};

pub(crate) mod abs;
pub(crate) mod add;
pub(crate) mod bit_and;
pub(crate) mod bit_not;
pub(crate) mod bit_or;
pub(crate) mod bit_xor;
pub(crate) mod ceil;
pub(crate) mod divide;
pub(crate) mod exp;
pub(crate) mod floor;
pub(crate) mod ln;
pub(crate) mod log;
pub(crate) mod log10;
pub(crate) mod modulo;
pub(crate) mod multiply;
pub(crate) mod pow;
pub(crate) mod round;
pub(crate) mod sqrt;
pub(crate) mod subtract;
pub(crate) mod trunc;

/// An operator of one number; null and missing answer null.
pub(super) fn unary(
    operator: &str,
    args: &Args<'_>,
    run: impl Fn(Num) -> Result<Num>,
) -> Result<Value> {
    match Num::of(&args[0]) {
        Some(number) => run(number).map(Num::value),
        None if is_nullish(&args[0]) => Ok(Value::Null),
        None => {
            let found = type_name(&args[0]);
            let message = format!("{operator} only supports numeric types, not {found}");
            Err(MqlError::new(28765, message))
        }
    }
}

/// A function of doubles; decimals go through doubles and back.
pub(super) fn real(number: Num, run: impl Fn(f64) -> f64) -> Num {
    match number {
        Num::Int(_) | Num::Long(_) | Num::Double(_) => Num::Double(run(number.to_f64())),
        Num::Decimal(n) => Num::Decimal(Decimal128::from_f64_wide(run(n.to_f64()))),
    }
}

fn is_below_zero(number: Num) -> bool {
    match number {
        Num::Int(n) => n < 0,
        Num::Long(n) => n < 0,
        Num::Double(n) => n < 0.0,
        Num::Decimal(n) => n.is_negative() && !n.is_zero(),
    }
}

/// What happens to the digits behind a place.
#[derive(Clone, Copy)]
enum Rounding {
    HalfEven,
    Truncate,
}

/// The places that numbers are rounded to.
const PLACE_MIN: i64 = -20;
const PLACE_MAX: i64 = 100;

fn to_place(operator: &str, args: &Args<'_>, rounding: Rounding) -> Result<Value> {
    if is_nullish(&args[0]) {
        return Ok(Value::Null);
    }
    let Some(number) = Num::of(&args[0]) else {
        let found = type_name(&args[0]);
        let message = format!("{operator} only supports numeric types, not {found}");
        return Err(MqlError::new(51081, message));
    };
    let place = match args.get(1) {
        Some(place) if is_nullish(place) => return Ok(Value::Null),
        Some(place) => read_place(operator, place)?,
        None => 0,
    };
    match number {
        Num::Int(n) => {
            let rounded = whole_to_place(operator, i64::from(n), place, rounding)?;
            Ok(narrow(rounded).value())
        }
        Num::Long(n) => Ok(Value::Int64(whole_to_place(operator, n, place, rounding)?)),
        Num::Double(n) if !n.is_finite() => Ok(Value::Double(n)),
        Num::Double(n) => {
            let n = Decimal128::from_f64_wide(n);
            let rounded = match rounding {
                Rounding::HalfEven => n.round_to(place),
                Rounding::Truncate => truncate_to(n, place),
            };
            Ok(Value::Double(rounded.to_f64()))
        }
        Num::Decimal(n) => Ok(decimal(decimal_to_place(n, place, rounding))),
    }
}

fn read_place(operator: &str, value: &Value) -> Result<i32> {
    let Some(number) = Num::of(value) else {
        let found = type_name(value);
        let message = format!("can't convert from BSON type {found} to long");
        return Err(MqlError::new(16004, message));
    };
    let Some(place) = number.to_i64_exact() else {
        let message = format!("precision argument to  {operator} must be a integral value");
        return Err(MqlError::new(51082, message));
    };
    match (PLACE_MIN..=PLACE_MAX).contains(&place) {
        true => Ok(place as i32),
        false => Err(MqlError::new(
            51083,
            format!(
                "cannot apply {operator} with precision value {place} value must be in [{PLACE_MIN}, {PLACE_MAX}]"
            ),
        )),
    }
}

fn whole_to_place(operator: &str, n: i64, place: i32, rounding: Rounding) -> Result<i64> {
    if place >= 0 {
        return Ok(n);
    }
    let unit = 10i128.pow(place.unsigned_abs());
    let (kept, rest) = (i128::from(n) / unit, i128::from(n) % unit);
    let up = match rounding {
        Rounding::Truncate => false,
        Rounding::HalfEven => {
            let twice = rest.abs() * 2;
            twice > unit || (twice == unit && kept % 2 != 0)
        }
    };
    let step = if n < 0 { -1 } else { 1 };
    let rounded = (kept + if up { step } else { 0 }) * unit;
    i64::try_from(rounded).map_err(|_| {
        let message = format!(
            "invalid conversion from Decimal128 result in {operator} resulting from arguments: [{n}, {place}]"
        );
        MqlError::new(51080, message)
    })
}

fn decimal_to_place(n: Decimal128, place: i32, rounding: Rounding) -> Decimal128 {
    padded(
        match rounding {
            Rounding::HalfEven => n.round_to(place),
            Rounding::Truncate => truncate_to(n, place),
        },
        place,
    )
}

/// The same number with zeros up to the place, or as many as there is room for.
fn padded(n: Decimal128, place: i32) -> Decimal128 {
    match n {
        Decimal128::Finite {
            negative,
            coefficient,
            exponent,
        } if exponent > -place => {
            let wanted = (exponent + place).unsigned_abs();
            let (zeros, exponent) = match coefficient.checked_ilog10() {
                None => (0, -place),
                Some(log) => {
                    let zeros = wanted.min((DIGITS_MAX - 1).saturating_sub(log));
                    (zeros, exponent - zeros as i32)
                }
            };
            Decimal128::Finite {
                negative,
                coefficient: coefficient * 10u128.pow(zeros),
                exponent,
            }
        }
        Decimal128::Finite { .. } | Decimal128::Infinity { .. } | Decimal128::NaN => n,
    }
}

/// A decimal without a fraction; one beyond 34 digits is not a number, as MongoDB says.
fn to_whole(n: Decimal128) -> Decimal128 {
    match padded(n, 0) {
        whole @ Decimal128::Finite { exponent: ..=0, .. } => whole,
        Decimal128::Finite { .. } | Decimal128::Infinity { .. } | Decimal128::NaN => {
            Decimal128::NaN
        }
    }
}

/// Folds ints and longs bit by bit; one long makes the result a long.
fn bitwise(
    operator: &str,
    args: &Args<'_>,
    start: i64,
    fold: impl Fn(i64, i64) -> i64,
) -> Result<Value> {
    let (mut bits, mut long, mut null) = (start, false, false);
    for value in args {
        match &**value {
            Value::Int32(n) => bits = fold(bits, i64::from(*n)),
            Value::Int64(n) => {
                bits = fold(bits, *n);
                long = true;
            }
            Value::Null | Value::Undefined => null = true,
            other => {
                let found = type_name(other);
                let message =
                    format!("{operator} only supports int and long operands, not {found}.");
                return Err(MqlError::type_mismatch(message));
            }
        }
    }
    Ok(match (null, long) {
        (true, _) => Value::Null,
        (false, true) => Value::Int64(bits),
        (false, false) => Value::Int32(bits as i32),
    })
}
