//! `$toLower`: the text with its ASCII letters in lower case.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    Ok(Value::from(loose_text(&args[0])?.to_ascii_lowercase()))
}
