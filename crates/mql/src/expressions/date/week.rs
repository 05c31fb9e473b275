//! `$week`: the week of the year, from 0, each from a Sunday of a date.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    part::parse(operator, spec, names, |time| {
        let number = time.week();
        Value::Int32(number as i32)
    })
}
