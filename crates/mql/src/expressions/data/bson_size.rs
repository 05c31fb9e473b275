//! `$bsonSize`: how many bytes a document has as BSON.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    match &*args[0] {
        Value::Null | Value::Undefined => Ok(Value::Null),
        Value::Object(object) => {
            let mut bytes = Vec::new();
            bson::write_document(object, &mut bytes);
            Ok(Value::Int32(bytes.len() as i32))
        }
        other => {
            let found = type_name(other);
            let message = format!("$bsonSize requires a document input, found: {found}");
            Err(MqlError::new(31393, message))
        }
    }
}
