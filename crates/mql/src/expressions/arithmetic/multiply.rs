//! `$multiply`: the product of numbers.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    let mut product = Num::Int(1);
    for value in args {
        match Num::of(value) {
            Some(number) => product = product.multiply(number),
            None if is_nullish(value) => return Ok(Value::Null),
            None => {
                return Err(MqlError::type_mismatch(format!(
                    "$multiply only supports numeric types, not {}",
                    type_name(value)
                )));
            }
        }
    }
    Ok(product.value())
}
