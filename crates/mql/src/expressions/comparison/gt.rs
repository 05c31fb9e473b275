//! `$gt`: whether the first is greater.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    Ok(Value::Bool(compare(&args[0], &args[1]).is_gt()))
}
