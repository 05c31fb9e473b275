//! `$size`: how many elements an array has.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    match args[0].as_array() {
        Some(elements) => Ok(Value::Int32(elements.len() as i32)),
        None => {
            let found = type_name(&args[0]);
            let message =
                format!("The argument to $size must be an array, but was of type: {found}");
            Err(MqlError::new(17124, message))
        }
    }
}
