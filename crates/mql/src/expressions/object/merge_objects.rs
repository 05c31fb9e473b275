//! `$mergeObjects`: one object of the members of all; later ones win.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    let mut merged = Object::new();
    for value in args {
        merge(&mut merged, value)?;
    }
    Ok(Value::Object(merged))
}

/// Adds the members of an object; null and missing add nothing.
pub(crate) fn merge(merged: &mut Object, value: &Value) -> Result<()> {
    match value {
        Value::Object(object) => {
            for (name, member) in object {
                merged.insert(name.clone(), member.clone());
            }
            Ok(())
        }
        other if is_nullish(other) => Ok(()),
        other => {
            let found = type_name(other);
            let message = format!(
                "$mergeObjects requires object inputs, but input {other} is of type {found}"
            );
            Err(MqlError::new(40400, message))
        }
    }
}
