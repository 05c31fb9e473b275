//! `$dayOfWeek`: the day of the week, from 1 on Sunday of a date.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    part::parse(operator, spec, names, |time| {
        let number = time.weekday() + 1;
        Value::Int32(number as i32)
    })
}
