//! `$median` over the elements of an array.

use crate::accumulators::percentile;

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

#[derive(Debug)]
struct Median {
    input: Expr,
    spec: percentile::Spec,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let (input, spec) = percentile::parse(operator, spec, names)?;
    Ok(Expr::lazy(Median { input, spec }))
}

impl Operator for Median {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let mut percentile = percentile::Percentile::new(self.spec.clone());
        let input = self.input.get(scope)?;
        match input.as_array() {
            Some(elements) => elements
                .iter()
                .try_for_each(|value| percentile.add(value))?,
            None => percentile.add(&input)?,
        }
        percentile.result()
    }
}
