//! `$map`: what an expression makes of each element.

use super::filter::element_name;
use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[("input", 16880), ("as", OPTIONAL), ("in", 16882)],
    not_object: 16878,
    unknown: 16879,
};

#[derive(Debug)]
struct Map {
    input: Expr,
    name: Str,
    body: Expr,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let parts = FIELDS.take(operator, spec)?;
    let part = |at: usize| parts.get(at).copied().flatten();
    let required = |at: usize| part(at).unwrap_or(Value::undefined());
    let name = element_name(part(1))?;
    Ok(Expr::lazy(Map {
        input: Expr::parse(required(0), names)?,
        body: Expr::parse(required(2), &names.with(name.clone()))?,
        name,
    }))
}

impl Operator for Map {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let input = self.input.get(scope)?;
        if is_nullish(&input) {
            return Ok(Value::Null);
        }
        let Some(elements) = input.as_array() else {
            let found = type_name(&input);
            let message = format!("input to $map must be an array not {found}");
            return Err(MqlError::new(16883, message));
        };
        let budget = scope.budget();
        let each = |element| {
            budget.charge(VALUE_BYTES)?;
            let local = scope.local(&self.name, element);
            self.body.eval(&scope.inside(&local)).map(missing_to_null)
        };
        Ok(Value::Array(
            elements.iter().map(each).collect::<Result<_>>()?,
        ))
    }
}
