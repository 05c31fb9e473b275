//! The four operations and the remainder.

use super::{DIGITS_MAX, Decimal128, digits, finish, pow10};

/// Digits that fit a `u128` with room for a carry; what is wider than 34 is rounded away.
const WIDE_DIGITS: u32 = 37;

/// A finite number on its way through an operation.
#[derive(Clone, Copy)]
struct Parts {
    negative: bool,
    coefficient: u128,
    exponent: i32,
}

#[allow(
    clippy::should_implement_trait,
    reason = "the operations round, which an operator's sign would hide"
)]
impl Decimal128 {
    /// The sum.
    pub fn add(self, other: Decimal128) -> Decimal128 {
        use Decimal128::{Finite, Infinity, NaN};
        match (self, other) {
            (NaN, _) | (_, NaN) => NaN,
            (Infinity { negative: a }, Infinity { negative: b }) if a != b => NaN,
            (Infinity { negative }, _) | (_, Infinity { negative }) => Infinity { negative },
            (Finite { .. }, Finite { .. }) => match (self.parts(), other.parts()) {
                (Some(a), Some(b)) => add(a, b),
                _ => NaN,
            },
        }
    }

    /// The difference.
    pub fn sub(self, other: Decimal128) -> Decimal128 {
        self.add(other.neg())
    }

    /// The number with its sign turned.
    pub fn neg(self) -> Decimal128 {
        match self {
            Decimal128::NaN => Decimal128::NaN,
            Decimal128::Infinity { negative } => Decimal128::Infinity {
                negative: !negative,
            },
            Decimal128::Finite {
                negative,
                coefficient,
                exponent,
            } => Decimal128::Finite {
                negative: !negative,
                coefficient,
                exponent,
            },
        }
    }

    /// The number without a sign.
    pub fn abs(self) -> Decimal128 {
        match self.is_negative() {
            true => self.neg(),
            false => self,
        }
    }

    /// The product.
    pub fn mul(self, other: Decimal128) -> Decimal128 {
        let negative = self.is_negative() != other.is_negative();
        match (self.parts(), other.parts()) {
            (Some(a), Some(b)) => mul(a, b),
            _ if self.is_nan() || other.is_nan() => Decimal128::NaN,
            _ if self.is_zero() || other.is_zero() => Decimal128::NaN,
            _ => Decimal128::Infinity { negative },
        }
    }

    /// The quotient; by zero it is infinite, and zero by zero is not a number.
    pub fn div(self, other: Decimal128) -> Decimal128 {
        let negative = self.is_negative() != other.is_negative();
        match (self.parts(), other.parts()) {
            (Some(a), Some(b)) if b.coefficient == 0 => match a.coefficient {
                0 => Decimal128::NaN,
                _ => Decimal128::Infinity { negative },
            },
            (Some(a), Some(b)) => div(a, b),
            (Some(_), None) if !other.is_nan() => finish(negative, 0, super::EXPONENT_MIN, false),
            (None, Some(_)) if !self.is_nan() => Decimal128::Infinity { negative },
            _ => Decimal128::NaN,
        }
    }

    /// What remains of this after taking `other` from it a whole number of times; the sign is this one's.
    pub fn rem(self, other: Decimal128) -> Decimal128 {
        match (self.parts(), other.parts()) {
            (Some(_), Some(b)) if b.coefficient == 0 => Decimal128::NaN,
            (Some(a), Some(b)) => rem(a, b),
            (Some(_), None) if !other.is_nan() => self,
            _ => Decimal128::NaN,
        }
    }

    fn parts(self) -> Option<Parts> {
        match self {
            Decimal128::NaN | Decimal128::Infinity { .. } => None,
            Decimal128::Finite {
                negative,
                coefficient,
                exponent,
            } => Some(Parts {
                negative,
                coefficient,
                exponent,
            }),
        }
    }
}

fn add(a: Parts, b: Parts) -> Decimal128 {
    let (high, low) = if a.exponent >= b.exponent {
        (a, b)
    } else {
        (b, a)
    };
    let distance = (high.exponent - low.exponent) as u32;
    if low.coefficient == 0 && high.coefficient != 0 {
        // Adding zero changes nothing but asks for its finer exponent, as far as the digits reach.
        let shift = distance.min(DIGITS_MAX - digits(high.coefficient));
        let shifted = high.coefficient * pow10(shift);
        return finish(high.negative, shifted, high.exponent - shift as i32, false);
    }
    let room = WIDE_DIGITS - digits(high.coefficient);
    let shift = if high.coefficient == 0 {
        0
    } else {
        distance.min(room)
    };
    let below = if high.coefficient == 0 {
        0
    } else {
        distance - shift
    };
    let wide = (high.coefficient * pow10(shift)) as i128;
    let (narrow, sticky) = cut(low.coefficient, below);
    let wide = if high.negative { -wide } else { wide };
    let narrow = if low.negative {
        -(narrow as i128)
    } else {
        narrow as i128
    };
    let mut sum = wide + narrow;
    if sticky && high.negative != low.negative {
        // What was cut off brings the sum nearer to zero by less than one: step past it, and say there is more.
        sum -= sum.signum();
    }
    let negative = match sum {
        0 => high.negative && low.negative,
        _ => sum < 0,
    };
    finish(
        negative,
        sum.unsigned_abs(),
        low.exponent + below as i32,
        sticky,
    )
}

/// The coefficient without its last digits, and whether they were more than nothing.
fn cut(coefficient: u128, drop: u32) -> (u128, bool) {
    if drop >= digits(coefficient).max(1) {
        return (0, coefficient != 0);
    }
    let unit = pow10(drop);
    (coefficient / unit, !coefficient.is_multiple_of(unit))
}

fn mul(a: Parts, b: Parts) -> Decimal128 {
    let half = pow10(DIGITS_MAX / 2);
    let whole = pow10(DIGITS_MAX);
    let (a1, a0) = (a.coefficient / half, a.coefficient % half);
    let (b1, b0) = (b.coefficient / half, b.coefficient % half);
    let middle = a1 * b0 + a0 * b1;
    let low = (middle % half) * half + a0 * b0;
    let high = a1 * b1 + middle / half + low / whole;
    let low = low % whole;
    let negative = a.negative != b.negative;
    let exponent = a.exponent + b.exponent;
    if high == 0 {
        return finish(negative, low, exponent, false);
    }
    let taken = (WIDE_DIGITS - digits(high)).min(DIGITS_MAX);
    let left = DIGITS_MAX - taken;
    let (top, sticky) = (low / pow10(left), !low.is_multiple_of(pow10(left)));
    let coefficient = high * pow10(taken) + top;
    finish(negative, coefficient, exponent + left as i32, sticky)
}

fn div(a: Parts, b: Parts) -> Decimal128 {
    let mut quotient = a.coefficient / b.coefficient;
    let mut rest = a.coefficient % b.coefficient;
    let mut exponent = a.exponent - b.exponent;
    while rest != 0 && digits(quotient) < WIDE_DIGITS {
        rest *= 10;
        quotient = quotient * 10 + rest / b.coefficient;
        rest %= b.coefficient;
        exponent -= 1;
    }
    finish(a.negative != b.negative, quotient, exponent, rest != 0)
}

fn rem(a: Parts, b: Parts) -> Decimal128 {
    let rest = if a.exponent >= b.exponent {
        let distance = a.exponent - b.exponent;
        (0..distance).fold(a.coefficient % b.coefficient, |rest, _| {
            rest * 10 % b.coefficient
        })
    } else {
        let distance = (b.exponent - a.exponent) as u32;
        match distance + digits(b.coefficient) <= WIDE_DIGITS {
            true => a.coefficient % (b.coefficient * pow10(distance)),
            // The divisor is larger than any coefficient.
            false => a.coefficient,
        }
    };
    finish(a.negative, rest, a.exponent.min(b.exponent), false)
}
