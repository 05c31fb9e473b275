//! `$type`: the name of a value's type.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    Ok(Value::from(type_name(&args[0])))
}
