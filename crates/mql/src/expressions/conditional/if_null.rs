//! `$ifNull`: the first that is neither null nor missing, else the last.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

#[derive(Debug)]
struct IfNull {
    first: Vec<Expr>,
    last: Expr,
}

fn parse(_: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let mut args = arguments(spec, names)?;
    let count = args.len();
    match args.pop() {
        Some(last) if count >= 2 => Ok(Expr::lazy(IfNull { first: args, last })),
        Some(_) | None => Err(MqlError::new(
            1257300,
            format!("$ifNull needs at least two arguments, had: {count}"),
        )),
    }
}

impl Operator for IfNull {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        for expr in &self.first {
            let value = expr.get(scope)?;
            if !is_nullish(&value) {
                return Ok(value.into_owned());
            }
        }
        self.last.eval(scope)
    }
}
