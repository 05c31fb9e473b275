//! `$mergeObjects`: one object of the members of all; later ones win.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(Merge::default()))
}

#[derive(Debug, Default)]
struct Merge {
    merged: Members,
    bytes: usize,
}

impl Accumulator for Merge {
    fn add(&mut self, value: &Value) -> Result<()> {
        let replaced = crate::expressions::merge(&mut self.merged, value, |bytes| {
            self.bytes = self.bytes.saturating_add(bytes);
            Ok(())
        })?;
        self.bytes = self.bytes.saturating_sub(replaced);
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        Ok(Value::Object(self.merged.to_object()))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
