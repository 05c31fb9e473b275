//! `$isNumber`: whether the value is an int, a long, a double or a decimal.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    Ok(Value::Bool(is_numeric(&args[0])))
}
