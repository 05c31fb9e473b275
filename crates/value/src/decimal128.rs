//! Decimal128: numbers of 34 decimal digits, as IEEE 754-2008 defines them and BSON carries them.
//!
//! Results are rounded once, half to even. Zeros keep their exponent, so `1.0` and `1.00` stay apart in print although they
//! are equal. NaN is quiet and has no sign.

mod arithmetic;
mod compare;
mod convert;
mod text;

/// Digits that a coefficient holds at most.
pub const DIGITS_MAX: u32 = 34;

/// The largest coefficient: 34 nines.
const COEFFICIENT_MAX: u128 = 9_999_999_999_999_999_999_999_999_999_999_999;

/// The exponents of the last digit that can be stored.
const EXPONENT_MIN: i32 = -6176;
const EXPONENT_MAX: i32 = 6111;

/// Bits of the coefficient in the usual form.
const COEFFICIENT_BITS: u32 = 113;

/// A decimal number, taken apart.
#[derive(Clone, Copy, Debug)]
pub enum Decimal128 {
    /// Not a number.
    NaN,
    /// Beyond all numbers.
    Infinity {
        /// Whether it is below all numbers instead.
        negative: bool,
    },
    /// `coefficient` times ten to the power of `exponent`.
    Finite {
        /// The sign; zero may have one.
        negative: bool,
        /// The digits, at most 34.
        coefficient: u128,
        /// The power of ten of the last digit.
        exponent: i32,
    },
}

impl Decimal128 {
    /// Zero without a fraction.
    pub const ZERO: Decimal128 = Decimal128::Finite {
        negative: false,
        coefficient: 0,
        exponent: 0,
    };

    /// Takes the stored form apart: binary integer decimal, little-endian. Coefficients beyond 34 digits mean zero.
    pub fn from_bytes(bytes: &[u8; 16]) -> Decimal128 {
        let bits = u128::from_le_bytes(*bytes);
        let negative = bits >> 127 == 1;
        let combination = (bits >> 122) & 0x1F;
        if combination == 0x1F {
            return Decimal128::NaN;
        }
        if combination == 0x1E {
            return Decimal128::Infinity { negative };
        }
        // Two leading ones move the exponent two bits down and imply a coefficient beyond the limit.
        let (biased, coefficient) = match combination >> 3 == 3 {
            true => ((bits >> 111) & 0x3FFF, 0),
            false => (
                (bits >> COEFFICIENT_BITS) & 0x3FFF,
                bits & ((1 << COEFFICIENT_BITS) - 1),
            ),
        };
        Decimal128::Finite {
            negative,
            coefficient: if coefficient > COEFFICIENT_MAX {
                0
            } else {
                coefficient
            },
            exponent: biased as i32 + EXPONENT_MIN,
        }
    }

    /// The stored form, see [`Decimal128::from_bytes`].
    pub fn to_bytes(self) -> [u8; 16] {
        let bits = match self {
            Decimal128::NaN => 0x1F << 122,
            Decimal128::Infinity { negative } => sign_bit(negative) | 0x1E << 122,
            Decimal128::Finite {
                negative,
                coefficient,
                exponent,
            } => {
                // Every number is made by `finish`, which keeps the exponent in range.
                let biased = (exponent - EXPONENT_MIN).clamp(0, EXPONENT_MAX - EXPONENT_MIN);
                sign_bit(negative) | (biased as u128) << COEFFICIENT_BITS | coefficient
            }
        };
        bits.to_le_bytes()
    }

    /// Whether it is not a number.
    pub fn is_nan(self) -> bool {
        matches!(self, Decimal128::NaN)
    }

    /// Whether it is a number, and not beyond all of them.
    pub fn is_finite(self) -> bool {
        matches!(self, Decimal128::Finite { .. })
    }

    /// Whether it equals zero.
    pub fn is_zero(self) -> bool {
        matches!(self, Decimal128::Finite { coefficient: 0, .. })
    }

    /// Whether it has a minus sign.
    pub fn is_negative(self) -> bool {
        match self {
            Decimal128::NaN => false,
            Decimal128::Infinity { negative } | Decimal128::Finite { negative, .. } => negative,
        }
    }
}

fn sign_bit(negative: bool) -> u128 {
    u128::from(negative) << 127
}

/// How many digits a coefficient has; zero has none.
fn digits(coefficient: u128) -> u32 {
    coefficient.checked_ilog10().map_or(0, |log| log + 1)
}

fn pow10(exponent: u32) -> u128 {
    10u128.pow(exponent)
}

/// The number nearest to `coefficient`, and a little more if `sticky`, times ten to the power of `exponent`.
///
/// What is `sticky` must have more than 34 digits, so that the little more decides only ties.
fn finish(negative: bool, coefficient: u128, exponent: i32, sticky: bool) -> Decimal128 {
    let excess = digits(coefficient) as i32 - DIGITS_MAX as i32;
    let drop = excess.max(EXPONENT_MIN - exponent).max(0);
    let (mut coefficient, mut exponent) = (
        round(coefficient, drop as u32, sticky),
        exponent.saturating_add(drop),
    );
    if coefficient > COEFFICIENT_MAX {
        // Rounded up to the next power of ten: the last digit is a zero.
        coefficient /= 10;
        exponent += 1;
    }
    if exponent > EXPONENT_MAX {
        let shift = exponent - EXPONENT_MAX;
        if coefficient == 0 {
            exponent = EXPONENT_MAX;
        } else if shift + digits(coefficient) as i32 <= DIGITS_MAX as i32 {
            coefficient *= pow10(shift as u32);
            exponent = EXPONENT_MAX;
        } else {
            return Decimal128::Infinity { negative };
        }
    }
    Decimal128::Finite {
        negative,
        coefficient,
        exponent,
    }
}

/// The coefficient without its last `drop` digits, half to even.
fn round(coefficient: u128, drop: u32, sticky: bool) -> u128 {
    if drop == 0 {
        return coefficient;
    }
    if drop > digits(coefficient) {
        return 0;
    }
    let unit = pow10(drop);
    let (kept, rest) = (coefficient / unit, coefficient % unit);
    let half = unit / 2;
    let up = rest > half || (rest == half && (sticky || kept % 2 == 1));
    kept + u128::from(up)
}
