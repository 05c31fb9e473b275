//! `$lastN`: the last elements of an array.

use super::*;

pub(crate) const FORM: Form = Form::Named(&N_FIELDS, run);

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    let (n, elements) = n_and_input(args)?;
    Ok(Value::Array(
        elements
            .iter()
            .skip(elements.len().saturating_sub(n))
            .cloned()
            .collect(),
    ))
}
