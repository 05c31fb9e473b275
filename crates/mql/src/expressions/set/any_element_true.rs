//! `$anyElementTrue`: whether an element is true.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    match args[0].as_array() {
        Some(elements) => Ok(Value::Bool(elements.iter().any(is_true))),
        None => {
            let found = type_name(&args[0]);
            let message = format!("$anyElementTrue's argument must be an array, but is {found}");
            Err(MqlError::new(17041, message))
        }
    }
}
