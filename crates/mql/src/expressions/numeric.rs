//! The four kinds of number and how they widen: int, long, double, decimal.

use lapsedb_value::Value;
use lapsedb_value::decimal128::Decimal128;

use super::values::type_name;
use crate::{MqlError, Result};

/// A number, by kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Num {
    Int(i32),
    Long(i64),
    Double(f64),
    Decimal(Decimal128),
}

/// Two numbers of one kind: the wider of the two they came as.
pub(crate) enum Pair {
    Int(i32, i32),
    Long(i64, i64),
    Double(f64, f64),
    Decimal(Decimal128, Decimal128),
}

impl Num {
    /// The number in a value, if it is one.
    pub(crate) fn of(value: &Value) -> Option<Num> {
        match value {
            Value::Int32(n) => Some(Num::Int(*n)),
            Value::Int64(n) => Some(Num::Long(*n)),
            Value::Double(n) => Some(Num::Double(*n)),
            Value::Decimal128(bytes) => Some(Num::Decimal(Decimal128::from_bytes(bytes))),
            _ => None,
        }
    }

    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Num::Int(n) => f64::from(n),
            Num::Long(n) => n as f64,
            Num::Double(n) => n,
            Num::Decimal(n) => n.to_f64(),
        }
    }

    pub(crate) fn to_decimal(self) -> Decimal128 {
        match self {
            Num::Int(n) => Decimal128::from(i64::from(n)),
            Num::Long(n) => Decimal128::from(n),
            Num::Double(n) => Decimal128::from_f64(n),
            Num::Decimal(n) => n,
        }
    }

    /// The whole number without its fraction, if it fits.
    pub(crate) fn to_i64_truncated(self) -> Option<i64> {
        match self {
            Num::Int(n) => Some(i64::from(n)),
            Num::Long(n) => Some(n),
            Num::Double(n) => lapsedb_value::number::to_i64_exact(n.trunc()),
            Num::Decimal(n) => n.to_i64_truncated(),
        }
    }

    /// The number, if it is whole and fits.
    pub(crate) fn to_i64_exact(self) -> Option<i64> {
        match self {
            Num::Int(n) => Some(i64::from(n)),
            Num::Long(n) => Some(n),
            Num::Double(n) => lapsedb_value::number::to_i64_exact(n),
            Num::Decimal(n) => n.to_i64_exact(),
        }
    }

    /// The number, if it is whole and fits 32 bits.
    pub(crate) fn to_i32_exact(self) -> Option<i32> {
        self.to_i64_exact().and_then(|n| i32::try_from(n).ok())
    }

    pub(crate) fn is_finite(self) -> bool {
        match self {
            Num::Decimal(decimal) => decimal.is_finite(),
            Num::Double(double) => double.is_finite(),
            Num::Int(_) | Num::Long(_) => true,
        }
    }

    pub(crate) fn is_nan(self) -> bool {
        match self {
            Num::Int(_) | Num::Long(_) => false,
            Num::Double(n) => n.is_nan(),
            Num::Decimal(n) => n.is_nan(),
        }
    }

    pub(crate) fn is_zero(self) -> bool {
        match self {
            Num::Int(n) => n == 0,
            Num::Long(n) => n == 0,
            Num::Double(n) => n == 0.0,
            Num::Decimal(n) => n.is_zero(),
        }
    }

    /// Both numbers in the wider kind of the two.
    pub(crate) fn pair(self, other: Num) -> Pair {
        match (self, other) {
            (Num::Decimal(_), _) | (_, Num::Decimal(_)) => {
                Pair::Decimal(self.to_decimal(), other.to_decimal())
            }
            (Num::Double(_), _) | (_, Num::Double(_)) => {
                Pair::Double(self.to_f64(), other.to_f64())
            }
            (Num::Int(a), Num::Int(b)) => Pair::Int(a, b),
            (Num::Int(a), Num::Long(b)) => Pair::Long(i64::from(a), b),
            (Num::Long(a), Num::Int(b)) => Pair::Long(a, i64::from(b)),
            (Num::Long(a), Num::Long(b)) => Pair::Long(a, b),
        }
    }

    /// The sum; whole numbers that overflow widen.
    pub(crate) fn add(self, other: Num) -> Num {
        match self.pair(other) {
            Pair::Int(a, b) => narrow(i64::from(a) + i64::from(b)),
            Pair::Long(a, b) => match a.checked_add(b) {
                Some(sum) => Num::Long(sum),
                None => Num::Double(a as f64 + b as f64),
            },
            Pair::Double(a, b) => Num::Double(a + b),
            Pair::Decimal(a, b) => Num::Decimal(a.add(b)),
        }
    }

    /// The difference; whole numbers that overflow widen.
    pub(crate) fn subtract(self, other: Num) -> Num {
        match self.pair(other) {
            Pair::Int(a, b) => narrow(i64::from(a) - i64::from(b)),
            Pair::Long(a, b) => match a.checked_sub(b) {
                Some(difference) => Num::Long(difference),
                None => Num::Double(a as f64 - b as f64),
            },
            Pair::Double(a, b) => Num::Double(a - b),
            Pair::Decimal(a, b) => Num::Decimal(a.sub(b)),
        }
    }

    /// The product; whole numbers that overflow widen.
    pub(crate) fn multiply(self, other: Num) -> Num {
        match self.pair(other) {
            Pair::Int(a, b) => narrow(i64::from(a) * i64::from(b)),
            Pair::Long(a, b) => match a.checked_mul(b) {
                Some(product) => Num::Long(product),
                None => Num::Double(a as f64 * b as f64),
            },
            Pair::Double(a, b) => Num::Double(a * b),
            Pair::Decimal(a, b) => Num::Decimal(a.mul(b)),
        }
    }

    /// The quotient: a double unless a decimal takes part. Nothing of a division by zero.
    pub(crate) fn divide(self, other: Num) -> Option<Num> {
        if other.is_zero() {
            return None;
        }
        Some(match self.pair(other) {
            Pair::Decimal(a, b) => Num::Decimal(a.div(b)),
            Pair::Int(..) | Pair::Long(..) | Pair::Double(..) => {
                Num::Double(self.to_f64() / other.to_f64())
            }
        })
    }

    pub(crate) fn value(self) -> Value {
        match self {
            Num::Int(n) => Value::Int32(n),
            Num::Long(n) => Value::Int64(n),
            Num::Double(n) => Value::Double(n),
            Num::Decimal(n) => decimal(n),
        }
    }
}

/// A whole number as an int if it fits, else as a long.
pub(crate) fn narrow(n: i64) -> Num {
    match i32::try_from(n) {
        Ok(small) => Num::Int(small),
        Err(_) => Num::Long(n),
    }
}

/// A decimal as a value.
pub(crate) fn decimal(n: Decimal128) -> Value {
    Value::Decimal128(n.to_bytes())
}

/// Whether the value is one of the four kinds of number.
pub(crate) fn is_numeric(value: &Value) -> bool {
    Num::of(value).is_some()
}

/// The greatest whole decimal that is not greater.
pub(crate) fn floor(n: Decimal128) -> Decimal128 {
    let whole = n.truncate();
    let below = n.is_negative() && whole.compare(n).is_ne();
    match below {
        true => whole.sub(Decimal128::from(1)),
        false => whole,
    }
}

/// The decimal without what stands behind a place after the point; a negative place lies before the point.
pub(crate) fn truncate_to(n: Decimal128, place: i32) -> Decimal128 {
    match n {
        Decimal128::Finite {
            negative,
            coefficient,
            exponent,
        } if exponent < -place => {
            let unit = 10u128.checked_pow((-place - exponent).unsigned_abs());
            Decimal128::Finite {
                negative,
                coefficient: unit.map_or(0, |unit| coefficient / unit),
                exponent: -place,
            }
        }
        Decimal128::Finite { .. } | Decimal128::Infinity { .. } | Decimal128::NaN => n,
    }
}

/// A number as a long: doubles lose their fraction, decimals are rounded, and what does not fit is code 31109.
pub(crate) fn coerce_to_long(value: &Value) -> Result<i64> {
    let long = match Num::of(value) {
        Some(Num::Decimal(n)) => n.round_to(0).to_i64_truncated(),
        Some(number) => number.to_i64_truncated(),
        None => {
            let found = type_name(value);
            let message = format!("can't convert from BSON type {found} to long");
            return Err(MqlError::new(16004, message));
        }
    };
    long.ok_or_else(|| {
        let message = format!("Can't coerce out of range value {value} to long");
        MqlError::new(31109, message)
    })
}
