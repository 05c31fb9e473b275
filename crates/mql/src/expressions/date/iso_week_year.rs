//! `$isoWeekYear`: the year of the ISO week of a date.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    part::parse(operator, spec, names, |time| {
        let number = time.iso_week().0;
        Value::Int64(number)
    })
}
