//! `$concat`: one text after the other.

use super::*;

pub(crate) const FORM: Form = Form::Charged(Count::Any, run);

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    let mut all = String::new();
    for value in args {
        match &**value {
            Value::String(text) => {
                budget.charge(text.len())?;
                all.push_str(text);
            }
            other if is_nullish(other) => return Ok(Value::Null),
            other => {
                let found = type_name(other);
                let message = format!("$concat only supports strings, not {found}");
                return Err(MqlError::new(16702, message));
            }
        }
    }
    Ok(Value::from(all))
}
