//! `$lastN`: the last values; missing ones count as null.

use std::collections::VecDeque;

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    counted(operator, spec, names, |n| {
        Box::new(LastN {
            n,
            values: VecDeque::new(),
            bytes: 0,
        })
    })
}

#[derive(Debug)]
struct LastN {
    n: usize,
    values: VecDeque<Value>,
    bytes: usize,
}

impl Accumulator for LastN {
    fn add(&mut self, value: &Value) -> Result<()> {
        if self.values.len() >= self.n {
            let gone = self.values.pop_front();
            self.bytes -= gone.as_ref().map_or(0, weight);
        }
        self.bytes += weight(value);
        self.values.push_back(missing_to_null(value.clone()));
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(Value::Array(self.values.iter().cloned().collect()))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
