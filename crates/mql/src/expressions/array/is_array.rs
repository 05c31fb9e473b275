//! `$isArray`: whether the value is an array.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    Ok(Value::Bool(args[0].as_array().is_some()))
}
