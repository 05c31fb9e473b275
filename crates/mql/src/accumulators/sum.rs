//! `$sum`: the sum of the numbers; what is no number counts nothing.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(Sum::default()))
}

/// A sum that is exact as long as two doubles can hold it, so that the order of the numbers does not matter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    kind: Kind,
    /// The sum of what is not decimal: a double, and what it is wrong by.
    high: f64,
    low: f64,
    /// The same in whole numbers, as long as all are and it fits.
    whole: i128,
    decimals: Option<Decimal128>,
}

/// The widest kind that took part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    #[default]
    Int,
    Long,
    Double,
    Decimal,
}

impl Sum {
    /// Adds a number.
    pub(crate) fn add_number(&mut self, number: Num) {
        match number {
            Num::Int(n) => self.add_whole(i64::from(n), Kind::Int),
            Num::Long(n) => self.add_whole(n, Kind::Long),
            Num::Double(n) => {
                self.kind = self.kind.max(Kind::Double);
                self.add_double(n);
            }
            Num::Decimal(n) => {
                self.kind = Kind::Decimal;
                let before = self.decimals.unwrap_or(Decimal128::ZERO);
                self.decimals = Some(before.add(n));
            }
        }
    }

    fn add_whole(&mut self, n: i64, kind: Kind) {
        self.kind = self.kind.max(kind);
        self.whole += i128::from(n);
        // What the nearest double is wrong by is a small number, and so exact as a double.
        let near = n as f64;
        self.add_double(near);
        let rest = i128::from(n) - near as i128;
        if rest != 0 {
            self.add_double(rest as f64);
        }
    }

    /// Knuth's exact addition of two doubles. What the sum is wrong by goes into the next addition, rounded, as MongoDB does it.
    fn add_double(&mut self, n: f64) {
        let n = n + self.low;
        let sum = self.high + n;
        if !sum.is_finite() {
            self.high = sum;
            self.low = 0.0;
            return;
        }
        let part = sum - self.high;
        self.low = (self.high - (sum - part)) + (n - part);
        self.high = sum;
    }

    /// The sum without the decimals, as a double.
    pub(crate) fn double(&self) -> f64 {
        self.high + self.low
    }

    /// The sum in the widest kind that took part; whole numbers that overflow widen.
    pub(crate) fn total(&self) -> Num {
        match self.kind {
            Kind::Int | Kind::Long => {
                match (i32::try_from(self.whole), i64::try_from(self.whole)) {
                    (Ok(n), _) if self.kind == Kind::Int => Num::Int(n),
                    (_, Ok(n)) => Num::Long(n),
                    (_, Err(_)) => Num::Double(self.double()),
                }
            }
            Kind::Double => Num::Double(self.double()),
            Kind::Decimal => Num::Decimal(self.decimal()),
        }
    }

    /// The sum as a decimal.
    pub(crate) fn decimal(&self) -> Decimal128 {
        let decimals = self.decimals.unwrap_or(Decimal128::ZERO);
        let doubles = Decimal128::from_f64_wide(self.high).add(Decimal128::from_f64_wide(self.low));
        decimals.add(doubles)
    }

    /// Whether a decimal took part.
    pub(crate) fn is_decimal(&self) -> bool {
        self.kind == Kind::Decimal
    }
}

impl Accumulator for Sum {
    fn add(&mut self, value: &Value) -> Result<()> {
        if let Some(number) = Num::of(value) {
            self.add_number(number);
        }
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(self.total().value())
    }
}
