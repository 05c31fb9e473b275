//! `$first`: the value of the first document.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(First::default()))
}

#[derive(Debug, Default)]
struct First(Option<Value>);

impl Accumulator for First {
    fn add(&mut self, value: &Value) -> Result<()> {
        if self.0.is_none() {
            self.0 = Some(value.clone());
        }
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(self.0.clone().unwrap_or(Value::Null))
    }

    fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, weight)
    }
}
