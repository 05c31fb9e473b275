//! `$avg`: the mean of the numbers, null if there are none.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(Avg::default()))
}

/// A sum and how many numbers are in it.
#[derive(Debug, Default)]
pub(crate) struct Avg {
    sum: sum::Sum,
    count: i64,
}

impl Accumulator for Avg {
    fn add(&mut self, value: &Value) -> Result<()> {
        if let Some(number) = Num::of(value) {
            self.sum.add_number(number);
            self.count += 1;
        }
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        Ok(match self.sum.is_decimal() {
            true => decimal(self.sum.decimal().div(Decimal128::from(self.count))),
            false => Value::Double(self.sum.double() / self.count as f64),
        })
    }
}
