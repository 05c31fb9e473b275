//! `$binarySize`: how many bytes a text or binary data has.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    match &*args[0] {
        Value::Null | Value::Undefined => Ok(Value::Null),
        Value::String(text) => Ok(Value::Int32(text.len() as i32)),
        Value::Binary { bytes, .. } => Ok(Value::Int32(bytes.len() as i32)),
        other => {
            let found = type_name(other);
            let message =
                format!("$binarySize requires a string or BinData argument, found: {found}");
            Err(MqlError::new(51276, message))
        }
    }
}
