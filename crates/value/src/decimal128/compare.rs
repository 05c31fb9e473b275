//! The exact order of decimals, among themselves and with the other numbers.

use std::cmp::Ordering;

use super::{Decimal128, digits, pow10};
use crate::number::compare_f64;

impl Decimal128 {
    /// The order of numbers in which NaN comes first and equals itself; zeros are equal whatever their sign.
    pub fn compare(self, other: Decimal128) -> Ordering {
        self.class()
            .cmp(&other.class())
            .then_with(|| match self.class() {
                Class::Negative => compare_magnitudes(other, self),
                Class::Positive => compare_magnitudes(self, other),
                Class::NaN | Class::Below | Class::Zero | Class::Above => Ordering::Equal,
            })
    }

    /// The exact order of a decimal and a double: nothing is rounded.
    pub fn compare_f64(self, other: f64) -> Ordering {
        // Rounding keeps the order, so unequal neighbours tell all.
        match compare_f64(self.to_f64(), other) {
            Ordering::Equal if self.is_finite() => self.compare_exactly(other),
            order => order,
        }
    }

    /// Compares with a double that is the nearest to this number, by its whole expansion.
    fn compare_exactly(self, other: f64) -> Ordering {
        let (rounded, rest) = Decimal128::from_f64_and_rest(other);
        self.compare(rounded).then(rest.reverse())
    }

    fn class(self) -> Class {
        match self {
            Decimal128::NaN => Class::NaN,
            Decimal128::Infinity { negative: true } => Class::Below,
            Decimal128::Infinity { negative: false } => Class::Above,
            Decimal128::Finite { coefficient: 0, .. } => Class::Zero,
            Decimal128::Finite { negative: true, .. } => Class::Negative,
            Decimal128::Finite {
                negative: false, ..
            } => Class::Positive,
        }
    }
}

/// The coarse places of numbers, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    NaN,
    Below,
    Negative,
    Zero,
    Positive,
    Above,
}

fn compare_magnitudes(a: Decimal128, b: Decimal128) -> Ordering {
    let (
        Decimal128::Finite {
            coefficient: a,
            exponent: ea,
            ..
        },
        Decimal128::Finite {
            coefficient: b,
            exponent: eb,
            ..
        },
    ) = (a, b)
    else {
        return Ordering::Equal;
    };
    let (da, db) = (digits(a), digits(b));
    let places = (ea + da as i32).cmp(&(eb + db as i32));
    // With the first digits at the same place, the shorter one is filled up with zeros.
    places.then_with(|| {
        let width = da.max(db);
        (a * pow10(width - da)).cmp(&(b * pow10(width - db)))
    })
}
