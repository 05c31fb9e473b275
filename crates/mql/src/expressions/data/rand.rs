//! `$rand`: a random number, at least 0 and less than 1, from the seed of the command.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(_: &'static str, spec: &Value, _: &Names) -> Result<Expr> {
    match spec {
        Value::Object(object) if object.is_empty() => Ok(Expr::lazy(Rand)),
        Value::Array(list) if list.is_empty() => Ok(Expr::lazy(Rand)),
        Value::Object(_) | Value::Array(_) => Err(MqlError::new(
            3040501,
            "$rand does not currently accept arguments",
        )),
        _ => Err(MqlError::new(
            10065,
            "invalid parameter: expected an object ($rand)",
        )),
    }
}

#[derive(Debug)]
struct Rand;

impl Operator for Rand {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        Ok(Value::Double(scope.env().random()))
    }
}
