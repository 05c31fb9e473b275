//! `$bitNot`: every bit turned.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    match &*args[0] {
        Value::Null | Value::Undefined => Ok(Value::Null),
        Value::Int32(n) => Ok(Value::Int32(!n)),
        Value::Int64(n) => Ok(Value::Int64(!n)),
        other => Err(MqlError::new(
            28765,
            format!(
                "$bitNot only supports int and long, not {}.",
                type_name(other)
            ),
        )),
    }
}
