//! `$strLenCP`: how many code points a text has.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    match args[0].as_str() {
        Some(text) => Ok(Value::Int32(text.chars().count() as i32)),
        None => {
            let found = type_name(&args[0]);
            let message = format!("$strLenCP requires a string argument, found: {found}");
            Err(MqlError::new(34471, message))
        }
    }
}
