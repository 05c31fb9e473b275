//! `$strcasecmp`: the order of two texts without regard to ASCII case.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    let (a, b) = (loose_text(&args[0])?, loose_text(&args[1])?);
    let order = a.to_ascii_uppercase().cmp(&b.to_ascii_uppercase());
    Ok(Value::Int32(order as i32))
}
