//! `$add`: the sum of numbers, and of one date and numbers.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    let mut total = Sum::default();
    let mut date = None;
    for value in args {
        match &**value {
            Value::Null | Value::Undefined => return Ok(Value::Null),
            Value::Date(millis) if date.is_none() => date = Some(*millis),
            Value::Date(_) => {
                return Err(MqlError::new(
                    16612,
                    "only one date allowed in an $add expression",
                ));
            }
            other => match Num::of(other) {
                Some(number) => total.add_number(number),
                None => {
                    return Err(MqlError::new(
                        16554,
                        format!(
                            "$add only supports numeric or date types, not {}",
                            type_name(other)
                        ),
                    ));
                }
            },
        }
    }
    match date {
        None => Ok(total.total().value()),
        Some(millis) => add_to_date(millis, total.total()),
    }
}

fn add_to_date(millis: i64, number: Num) -> Result<Value> {
    let added = match number {
        Num::Int(n) => Some(i64::from(n)),
        Num::Long(n) => Some(n),
        Num::Double(n) => lapsedb_value::number::to_i64_exact(n.round()),
        Num::Decimal(n) => n.round_to(0).to_i64_truncated(),
    };
    let sum = added.and_then(|added| millis.checked_add(added));
    match sum {
        Some(sum) => Ok(Value::Date(sum)),
        None => Err(MqlError::new(15, "date overflow in $add")),
    }
}
