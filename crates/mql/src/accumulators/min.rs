//! `$min`: the least value that is not null.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(Min::default()))
}

/// The best so far.
#[derive(Debug, Default)]
pub(crate) struct Min(Option<Value>);

impl Accumulator for Min {
    fn add(&mut self, value: &Value) -> Result<()> {
        let better = match &self.0 {
            _ if is_nullish(value) => false,
            None => true,
            Some(best) => compare(value, best).is_lt(),
        };
        if better {
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
