//! `$maxN`: the greatest values that are not null, the greatest first.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    counted(operator, spec, names, |n| Box::new(Best::new(n, true)))
}

/// The best values, kept in order.
#[derive(Debug)]
pub(super) struct Best {
    n: usize,
    greatest: bool,
    values: Vec<Value>,
}

impl Best {
    pub(super) fn new(n: usize, greatest: bool) -> Best {
        Best {
            n,
            greatest,
            values: Vec::new(),
        }
    }
}

impl Accumulator for Best {
    fn add(&mut self, value: &Value) -> Result<()> {
        if is_nullish(value) {
            return Ok(());
        }
        let at = self.values.partition_point(|kept| match self.greatest {
            true => compare(kept, value).is_ge(),
            false => compare(kept, value).is_le(),
        });
        if at < self.n {
            self.values.insert(at, value.clone());
            self.values.truncate(self.n);
        }
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(Value::Array(self.values.clone()))
    }

    fn bytes(&self) -> usize {
        self.values.iter().map(weight).sum()
    }
}
