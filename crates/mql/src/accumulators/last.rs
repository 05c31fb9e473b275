//! `$last`: the value of the last document.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(Last::default()))
}

#[derive(Debug, Default)]
struct Last(Value);

impl Accumulator for Last {
    fn add(&mut self, value: &Value) -> Result<()> {
        self.0 = value.clone();
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(missing_to_null(self.0.clone()))
    }

    fn bytes(&self) -> usize {
        weight(&self.0)
    }
}
