//! `$subtract`: the difference of numbers, of dates, and of a date and a number.

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
            let taken = Num::of(number).and_then(Num::to_i64_truncated);
            let rest = taken.and_then(|taken| millis.checked_sub(taken));
            Ok(Value::Date(rest.ok_or_else(overflow)?))
        }
        _ => Err(MqlError::type_mismatch(format!(
            "can't $subtract {} from {}",
            type_name(right),
            type_name(left)
        ))),
    }
}
