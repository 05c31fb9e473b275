//! `$mergeObjects`: one object of the members of all; later ones win.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(Merge::default()))
}

#[derive(Debug, Default)]
struct Merge(Object);

impl Accumulator for Merge {
    fn add(&mut self, value: &Value) -> Result<()> {
        crate::expressions::merge(&mut self.0, value)
    }

    fn result(&self) -> Result<Value> {
        Ok(Value::Object(self.0.clone()))
    }

    fn bytes(&self) -> usize {
        object_weight(&self.0)
    }
}
