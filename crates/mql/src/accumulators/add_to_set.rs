//! `$addToSet`: the different values in an array, in no order that may be relied on.

use super::*;
use crate::expressions::values::Distinct;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(AddToSet::default()))
}

#[derive(Debug, Default)]
struct AddToSet {
    values: Distinct,
    bytes: usize,
}

impl Accumulator for AddToSet {
    fn add(&mut self, value: &Value) -> Result<()> {
        if !value.is_undefined() && self.values.insert(value) {
            // Each is there twice: once to be found, once in its place.
            self.bytes += 2 * weight(value);
        }
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(Value::Array(self.values.to_vec()))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
