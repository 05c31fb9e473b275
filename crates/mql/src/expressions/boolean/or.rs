//! `$or`: whether any is true; stops at the first that is.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

#[derive(Debug)]
struct Or(Vec<Expr>);

fn parse(_: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    Ok(Expr::lazy(Or(arguments(spec, names)?)))
}

impl Operator for Or {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        for condition in &self.0 {
            if is_true(&*condition.get(scope)?) {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }
}
