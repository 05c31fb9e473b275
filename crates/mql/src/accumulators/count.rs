//! `$count`: how many documents there are.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, _: &Names) -> Result<Gather> {
    match spec.as_object() {
        Some(object) if object.is_empty() => Ok(Gather {
            argument: Argument::Value(Expr::Literal(Value::Int32(1))),
            start: Start::Plain(|| Box::new(sum::Sum::default())),
        }),
        Some(_) | None => Err(MqlError::type_mismatch(format!(
            "{operator} takes no arguments, i.e. {operator}:{{}}"
        ))),
    }
}
