//! `$dayOfYear`: the day of the year, from 1 of a date.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    part::parse(operator, spec, names, |time| {
        let number = time.day_of_year();
        Value::Int32(number as i32)
    })
}
