//! `$last`: the value of the last document.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(Last::default()))
}

#[derive(Debug, Default)]
struct Last(Option<Value>);

impl Accumulator for Last {
    fn add(&mut self, value: &Value) -> Result<()> {
        self.0 = Some(value.clone());
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(self.0.clone().unwrap_or(Value::Null))
    }

    fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, weight)
    }
}
