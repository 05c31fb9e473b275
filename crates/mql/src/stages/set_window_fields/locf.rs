//! `$locf`: the last value that is not null.

use super::*;

#[derive(Debug)]
struct Locf(Expr);

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    if spec.bounds.is_some() {
        return Err(failed("'window' field is not allowed in $locf"));
    }
    Ok(Arc::new(Locf(Expr::parse(spec.argument, spec.names)?)))
}

impl Function for Locf {
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        let mut last = Value::Null;
        let mut values = Vec::with_capacity(part.len());
        for at in 0..part.len() {
            let value = part.eval(&self.0, at)?;
            if !is_nullish(&value) {
                last = value;
            }
            values.push(last.clone());
        }
        Ok(values)
    }
}
