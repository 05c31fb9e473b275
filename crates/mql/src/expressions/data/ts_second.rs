//! `$tsSecond`: a part of a time stamp.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    match &*args[0] {
        Value::Null | Value::Undefined => Ok(Value::Null),
        Value::Timestamp(stamp) => Ok(Value::Int64((stamp >> 32) as i64)),
        other => {
            let found = type_name(other);
            let message = format!(" Argument to $tsSecond must be a timestamp, but is {found}");
            Err(MqlError::new(5687301, message))
        }
    }
}
