//! `$replaceAll`: a text with every occurrence of another replaced.

use super::replace_one::{FIELDS, texts};
use super::*;

pub(crate) const FORM: Form = Form::Named(&FIELDS, run);

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    let Some([input, find, replacement]) = texts("$replaceAll", args)? else {
        return Ok(Value::Null);
    };
    Ok(Value::from(input.replace(find, replacement)))
}
