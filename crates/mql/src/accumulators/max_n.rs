//! `$maxN`: the greatest values that are not null, the greatest first. Of equal ones the later is shown first.

use std::cmp::Ordering;

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    counted(operator, spec, names, |n| Box::new(Best::new(n, true)))
}

/// The best values, kept in order.
#[derive(Debug)]
pub(crate) struct Best {
    n: usize,
    greatest: bool,
    values: Vec<Value>,
    bytes: usize,
}

impl Best {
    pub(crate) fn new(n: usize, greatest: bool) -> Best {
        Best {
            n,
            greatest,
            values: Vec::new(),
            bytes: 0,
        }
    }
}

impl Accumulator for Best {
    fn add(&mut self, value: &Value) -> Result<()> {
        if is_nullish(value) {
            return Ok(());
        }
        let order = |kept: &Value| compare(kept, value);
        let full = self.values.len() >= self.n;
        let worst = self.values.last().map(order);
        let at = match self.greatest {
            true if full && worst.is_none_or(Ordering::is_ge) => return Ok(()),
            true => self.values.partition_point(|kept| order(kept).is_gt()),
            false => self.values.partition_point(|kept| order(kept).is_le()),
        };
        if at < self.n {
            self.bytes += weight(value);
            self.values.insert(at, value.clone());
            let gone = self.values.drain(self.n.min(self.values.len())..);
            self.bytes -= gone.map(|value| weight(&value)).sum::<usize>();
        }
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(Value::Array(self.values.clone()))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn work(&self) -> usize {
        self.values.len() * VALUE_BYTES
    }
}
