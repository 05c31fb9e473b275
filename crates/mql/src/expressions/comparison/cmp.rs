//! `$cmp`: -1, 0 or 1, as the first is less, equal or greater.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    Ok(Value::Int32(compare(&args[0], &args[1]) as i32))
}
