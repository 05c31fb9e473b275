//! From and to the other kinds of number.

use std::cmp::Ordering;

use super::{DIGITS_MAX, Decimal128, EXPONENT_MIN, digits, finish, pow10};

/// Digits of a double that MongoDB keeps when it makes a decimal of it.
const DOUBLE_DIGITS: usize = 15;

/// Digits after the first one with which the expansion of every double is exact.
const EXPANSION_DIGITS: usize = 800;

impl From<i64> for Decimal128 {
    fn from(n: i64) -> Decimal128 {
        Decimal128::Finite {
            negative: n < 0,
            coefficient: u128::from(n.unsigned_abs()),
            exponent: 0,
        }
    }
}

impl Decimal128 {
    /// The double rounded to 15 digits, as MongoDB converts it when doubles and decimals meet.
    pub fn from_f64(n: f64) -> Decimal128 {
        match special(n) {
            Some(special) => special,
            None => from_scientific(&format!("{:.*e}", DOUBLE_DIGITS - 1, n)).0,
        }
    }

    /// The double rounded to 34 digits; one that needs fewer has no zeros behind its point.
    pub fn from_f64_wide(n: f64) -> Decimal128 {
        match Decimal128::from_f64_and_rest(n) {
            (exact, Ordering::Equal) => exact.reduced_to(0),
            (rounded, Ordering::Less | Ordering::Greater) => rounded,
        }
    }

    /// The double rounded to 34 digits, and how the double lies to that.
    pub(super) fn from_f64_and_rest(n: f64) -> (Decimal128, Ordering) {
        match special(n) {
            Some(special) => (special, Ordering::Equal),
            None => from_scientific(&format!("{n:.EXPANSION_DIGITS$e}")),
        }
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        match self {
            Decimal128::NaN => f64::NAN,
            Decimal128::Infinity { negative: true } => f64::NEG_INFINITY,
            Decimal128::Infinity { negative: false } => f64::INFINITY,
            Decimal128::Finite {
                negative,
                coefficient,
                exponent,
            } => {
                let sign = if negative { "-" } else { "" };
                let text = format!("{sign}{coefficient}e{exponent}");
                // Digits and an exponent always are a number.
                text.parse().unwrap_or(f64::NAN)
            }
        }
    }

    /// The number, if it has no fraction and fits.
    pub fn to_i64_exact(self) -> Option<i64> {
        let whole = self.truncate();
        match whole.compare(self) {
            Ordering::Equal => whole.to_i64_truncated(),
            Ordering::Less | Ordering::Greater => None,
        }
    }

    /// The number without its fraction, if it fits.
    pub fn to_i64_truncated(self) -> Option<i64> {
        let Decimal128::Finite {
            negative,
            coefficient,
            exponent,
        } = self.truncate()
        else {
            return None;
        };
        if coefficient == 0 {
            return Some(0);
        }
        let places = u32::try_from(exponent).ok()?;
        let magnitude = 10u128.checked_pow(places)?.checked_mul(coefficient)?;
        let magnitude = i128::try_from(magnitude).ok()?;
        i64::try_from(if negative { -magnitude } else { magnitude }).ok()
    }

    /// The number without its fraction.
    pub fn truncate(self) -> Decimal128 {
        match self {
            Decimal128::Finite {
                negative,
                coefficient,
                exponent,
            } if exponent < 0 => {
                let drop = exponent.unsigned_abs();
                let kept = match drop >= DIGITS_MAX {
                    true => 0,
                    false => coefficient / pow10(drop),
                };
                finish(negative, kept, 0, false)
            }
            Decimal128::Finite { .. } | Decimal128::NaN | Decimal128::Infinity { .. } => self,
        }
    }

    /// The number rounded to a place after the point, half to even; a negative place rounds before the point.
    pub fn round_to(self, place: i32) -> Decimal128 {
        match self {
            Decimal128::Finite {
                negative,
                coefficient,
                exponent,
            } if exponent < -place => {
                let drop = (-place - exponent).unsigned_abs();
                let kept = super::round(coefficient, drop.min(DIGITS_MAX + 1), false);
                finish(negative, kept, -place, false)
            }
            Decimal128::Finite { .. } | Decimal128::NaN | Decimal128::Infinity { .. } => self,
        }
    }

    /// The same number with as few digits as it needs, and the exponent that goes with them.
    pub fn reduced(self) -> Decimal128 {
        self.reduced_to(super::EXPONENT_MAX)
    }

    /// The same number without zeros at its end, as long as the exponent is below the one given.
    fn reduced_to(self, exponent_max: i32) -> Decimal128 {
        let Decimal128::Finite {
            negative,
            mut coefficient,
            mut exponent,
        } = self
        else {
            return self;
        };
        if coefficient == 0 {
            exponent = 0;
        }
        while coefficient != 0 && coefficient.is_multiple_of(10) && exponent < exponent_max {
            coefficient /= 10;
            exponent += 1;
        }
        Decimal128::Finite {
            negative,
            coefficient,
            exponent,
        }
    }
}

fn special(n: f64) -> Option<Decimal128> {
    if n.is_nan() {
        Some(Decimal128::NaN)
    } else if n.is_infinite() {
        Some(Decimal128::Infinity { negative: n < 0.0 })
    } else if n == 0.0 {
        Some(Decimal128::Finite {
            negative: n.is_sign_negative(),
            coefficient: 0,
            exponent: 0,
        })
    } else {
        None
    }
}

/// Reads `d.ddde±d` of any length: the nearest decimal, and how the text lies to that.
fn from_scientific(text: &str) -> (Decimal128, Ordering) {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut exponent: i32 = exponent.parse().unwrap_or(EXPONENT_MIN);
    let mut coefficient = 0u128;
    let mut rest = false;
    let mut at_point = false;
    for sign in mantissa.bytes() {
        if sign == b'.' {
            at_point = true;
        } else if digits(coefficient) < DIGITS_MAX + 2 {
            coefficient = coefficient * 10 + u128::from(sign.saturating_sub(b'0'));
            exponent -= i32::from(at_point);
        } else {
            rest |= sign != b'0';
            exponent += i32::from(!at_point);
        }
    }
    let rounded = finish(negative, coefficient, exponent, rest);
    // Two guard digits and the rest say on which side of the rounded number the text lies.
    let unrounded = Decimal128::Finite {
        negative,
        coefficient,
        exponent,
    };
    let outward = match negative {
        true => Ordering::Less,
        false => Ordering::Greater,
    };
    let beyond = if rest { outward } else { Ordering::Equal };
    (rounded, unrounded.compare(rounded).then(beyond))
}
