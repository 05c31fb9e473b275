//! `$and`: whether all are true; stops at the first that is not.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

#[derive(Debug)]
struct And(Vec<Expr>);

fn parse(_: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    Ok(Expr::lazy(And(arguments(spec, names)?)))
}

impl Operator for And {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        for condition in &self.0 {
            if !is_true(&*condition.get(scope)?) {
                return Ok(Value::Bool(false));
            }
        }
        Ok(Value::Bool(true))
    }
}
