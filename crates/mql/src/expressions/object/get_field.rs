//! `$getField`: a member by its name, whatever signs are in it.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[("field", 3041702), ("input", 3041703)],
    not_object: 3041704,
    unknown: 3041701,
};

#[derive(Debug)]
struct GetField {
    field: Str,
    input: Expr,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let operators = |object: &Object| object.keys().next().is_some_and(|key| key.starts_with('$'));
    let (field, input) = match spec {
        // An object of named arguments, unless it is an expression for the name.
        Value::Object(object) if !operators(object) => {
            let parts = FIELDS.take(operator, spec)?;
            let part = |at: usize| {
                parts
                    .get(at)
                    .copied()
                    .flatten()
                    .unwrap_or(Value::undefined())
            };
            (part(0), Expr::parse(part(1), names)?)
        }
        _ => (spec, Expr::parse(&Value::from("$$CURRENT"), names)?),
    };
    let field = constant_name(operator, field, names, (5654600, 5654601, 5654602))?;
    Ok(Expr::lazy(GetField { field, input }))
}

impl Operator for GetField {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let input = self.input.get(scope)?;
        match &*input {
            Value::Object(object) => Ok(object.get(&self.field).cloned().unwrap_or_default()),
            Value::Null => Ok(Value::Null),
            _ => Ok(Value::Undefined),
        }
    }
}
