//! `$unsetField`: an object without one member.

use super::set_field::SetField;
use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[("field", 4161102), ("input", 4161109)],
    not_object: 4161100,
    unknown: 4161101,
};

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
        value: Expr::Literal(Value::Undefined),
        input: Expr::parse(part(1), names)?,
    }))
}
