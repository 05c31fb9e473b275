//! `$in`: whether a value is an element of an array.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    let Some(elements) = args[1].as_array() else {
        let found = type_name(&args[1]);
        let message = format!("$in requires an array as a second argument, found: {found}");
        return Err(MqlError::new(40081, message));
    };
    let found = elements.iter().any(|element| equal(element, &args[0]));
    Ok(Value::Bool(found))
}
