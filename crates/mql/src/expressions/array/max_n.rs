//! `$maxN`: the greatest elements that are not null, in order.

use super::*;

pub(crate) const FORM: Form = Form::Named(&N_FIELDS, run);

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    let (n, elements) = n_and_input(args)?;
    let mut sorted: Vec<&Value> = elements.iter().filter(|value| !is_nullish(value)).collect();
    sorted.sort_by(|a, b| compare(b, a));
    Ok(Value::Array(sorted.into_iter().take(n).cloned().collect()))
}
