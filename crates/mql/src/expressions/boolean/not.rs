//! `$not`: the opposite truth.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    Ok(Value::Bool(!is_true(&args[0])))
}
