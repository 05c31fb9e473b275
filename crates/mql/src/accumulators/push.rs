//! `$push`: all values in an array; missing ones are left out.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(Push::default()))
}

#[derive(Debug, Default)]
struct Push {
    values: Vec<Value>,
    bytes: usize,
}

impl Accumulator for Push {
    fn add(&mut self, value: &Value) -> Result<()> {
        if !value.is_undefined() {
            self.bytes += weight(value);
            self.values.push(value.clone());
        }
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(Value::Array(self.values.clone()))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
