//! Sums and means of many numbers.

use crate::Value;

/// A sum under construction: exact as long as only integers of 64 bits were added, else in doubles, one after the other.
///
/// So the sum of integers does not depend on their order, also where a part of it would leave 64 bits.
#[derive(Clone, Copy, Debug)]
pub enum Sum {
    /// Of integers. No number of them that fits a memory overflows it.
    Whole(i128),
    /// Of numbers, some of which were no such integers.
    Double(f64),
}

impl Sum {
    /// The sum of nothing.
    pub const ZERO: Sum = Sum::Whole(0);

    /// The sum with one more number; `None` if the value is none.
    #[must_use]
    pub fn plus(self, value: &Value) -> Option<Sum> {
        Some(match (self, value.as_i64()) {
            (Sum::Whole(sum), Some(whole)) => Sum::Whole(sum.saturating_add(i128::from(whole))),
            (sum, _) => Sum::Double(sum.to_f64() + value.as_f64()?),
        })
    }

    /// The nearest double.
    fn to_f64(self) -> f64 {
        match self {
            Sum::Whole(sum) => sum as f64,
            Sum::Double(sum) => sum,
        }
    }

    /// The sum as a value: an integer if it is exact and fits, else a double, which need not be finite.
    #[must_use]
    pub fn total(self) -> Value {
        match self {
            Sum::Whole(sum) => {
                i64::try_from(sum).map_or_else(|_| Value::Double(sum as f64), Value::from)
            }
            Sum::Double(sum) => Value::Double(sum),
        }
    }

    /// The sum divided by a count: an integer if it is exact, without a rest, and fits; else a double, which need not be
    /// finite. `None` if the count is zero.
    #[must_use]
    pub fn divided_by(self, count: u64) -> Option<Value> {
        if count == 0 {
            return None;
        }
        if let Sum::Whole(sum) = self
            && sum.checked_rem(i128::from(count)) == Some(0)
            && let Ok(whole) = i64::try_from(sum / i128::from(count))
        {
            return Some(Value::from(whole));
        }
        Some(Value::Double(self.to_f64() / count as f64))
    }
}

impl Default for Sum {
    fn default() -> Sum {
        Sum::ZERO
    }
}

/// The number halfway between two, an integer if it is one that fits.
#[must_use]
pub fn midpoint(a: &Value, b: &Value) -> Option<Value> {
    Sum::ZERO.plus(a)?.plus(b)?.divided_by(2)
}
