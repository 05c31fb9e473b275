//! `$arrayElemAt`: the element at a place; a negative one counts from the end.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    if any_nullish(args) {
        return Ok(Value::Null);
    }
    let Some(elements) = args[0].as_array() else {
        let found = type_name(&args[0]);
        let message = format!("$arrayElemAt's first argument must be an array, but is {found}");
        return Err(MqlError::new(28689, message));
    };
    let Some(number) = Num::of(&args[1]) else {
        let found = type_name(&args[1]);
        let message =
            format!("$arrayElemAt's second argument must be a numeric value, but is {found}");
        return Err(MqlError::new(28690, message));
    };
    match number.to_i32_exact() {
        Some(at) => Ok(element_at(elements, i64::from(at))),
        None => Err(MqlError::new(
            28691,
            format!(
                "$arrayElemAt's second argument must be representable as a 32-bit integer: {}",
                args[1]
            ),
        )),
    }
}
