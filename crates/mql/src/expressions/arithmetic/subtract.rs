//! `$subtract`: the difference of numbers, of dates, and of a date and a number.

use super::super::numeric::coerce_to_long;
use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    let (left, right) = (&*args[0], &*args[1]);
    if let (Some(a), Some(b)) = (Num::of(left), Num::of(right)) {
        return Ok(a.subtract(b).value());
    }
    if any_nullish(args) {
        return Ok(Value::Null);
    }
    let overflow = || MqlError::new(15, "date overflow in $subtract");
    match (left, right) {
        (Value::Date(a), Value::Date(b)) => {
            let millis = a.checked_sub(*b).ok_or_else(overflow)?;
            Ok(Value::Int64(millis))
        }
        (Value::Date(millis), number) if is_numeric(number) => {
            let rest = millis.checked_sub(coerce_to_long(number)?);
            Ok(Value::Date(rest.ok_or_else(overflow)?))
        }
        _ => Err(MqlError::type_mismatch(format!(
            "can't $subtract {} from {}",
            type_name(right),
            type_name(left)
        ))),
    }
}
