//! `$setField`: an object with one member set, or removed by `$$REMOVE`.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[("field", 4161102), ("value", 4161103), ("input", 4161109)],
    not_object: 4161100,
    unknown: 4161101,
};

#[derive(Debug)]
pub(super) struct SetField {
    pub(super) operator: &'static str,
    pub(super) field: Str,
    pub(super) value: Expr,
    pub(super) input: Expr,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let parts = FIELDS.take(operator, spec)?;
    let part = |at: usize| {
        parts
            .get(at)
            .copied()
            .flatten()
            .unwrap_or(Value::undefined())
    };
    Ok(Expr::lazy(SetField {
        operator,
        field: constant_name(operator, part(0), names, (4161108, 4161106, 4161107))?,
        value: Expr::parse(part(1), names)?,
        input: Expr::parse(part(2), names)?,
    }))
}

impl Operator for SetField {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let mut object = match self.input.eval(scope)? {
            Value::Object(object) => object,
            other if is_nullish(&other) => return Ok(Value::Null),
            _ => {
                let message = format!(
                    "{} requires 'input' to evaluate to type Object",
                    self.operator
                );
                return Err(MqlError::new(4161105, message));
            }
        };
        match self.value.eval(scope)? {
            Value::Undefined => {
                object.remove(&self.field);
            }
            value => {
                object.insert(self.field.clone(), value);
            }
        }
        Ok(Value::Object(object))
    }
}
