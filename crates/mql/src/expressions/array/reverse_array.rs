//! `$reverseArray`: the elements from last to first.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    match &*args[0] {
        Value::Array(elements) => Ok(Value::Array(elements.iter().rev().cloned().collect())),
        other if is_nullish(other) => Ok(Value::Null),
        other => {
            let found = type_name(other);
            let message =
                format!("The argument to $reverseArray must be an array, but was of type: {found}");
            Err(MqlError::new(34435, message))
        }
    }
}
