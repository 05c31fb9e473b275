//! `$concatArrays`: one array after the other.

use super::*;

pub(crate) const FORM: Form = Form::Charged(Count::Any, run);

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    let mut all = Vec::new();
    for value in args {
        match &**value {
            Value::Array(elements) => {
                budget.charge(owned_bytes(value))?;
                all.extend_from_slice(elements);
            }
            other if is_nullish(other) => return Ok(Value::Null),
            other => {
                let found = type_name(other);
                let message = format!("$concatArrays only supports arrays, not {found}");
                return Err(MqlError::new(28664, message));
            }
        }
    }
    Ok(Value::Array(all))
}
