//! `$divide`: the quotient, a double unless a decimal takes part.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    let (Some(a), Some(b)) = (Num::of(&args[0]), Num::of(&args[1])) else {
        if any_nullish(args) {
            return Ok(Value::Null);
        }
        return Err(MqlError::type_mismatch(format!(
            "$divide only supports numeric types, not {} and {}",
            type_name(&args[0]),
            type_name(&args[1])
        )));
    };
    let quotient = a.divide(b).map(Num::value);
    quotient.ok_or_else(|| MqlError::bad_value("can't $divide by zero"))
}
