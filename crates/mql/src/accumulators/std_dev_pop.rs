//! `$stdDevPop`: the standard deviation of a population.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(new()))
}

/// An accumulator without values.
pub(crate) fn new() -> Deviation {
    Deviation::new(0)
}

/// Welford's running variance.
#[derive(Debug)]
pub(crate) struct Deviation {
    /// Taken off the count before dividing: 1 for a sample.
    bias: u32,
    count: f64,
    mean: f64,
    squares: f64,
}

impl Deviation {
    pub(super) fn new(bias: u32) -> Deviation {
        Deviation {
            bias,
            count: 0.0,
            mean: 0.0,
            squares: 0.0,
        }
    }
}

impl Accumulator for Deviation {
    fn add(&mut self, value: &Value) -> Result<()> {
        if let Some(number) = Num::of(value) {
            let n = number.to_f64();
            let delta = n - self.mean;
            self.count += 1.0;
            self.mean += delta / self.count;
            self.squares += delta * (n - self.mean);
        }
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        let count = self.count - f64::from(self.bias);
        Ok(match count > 0.0 {
            true => Value::Double((self.squares / count).sqrt()),
            false => Value::Null,
        })
    }
}
