//! `$replaceAll`: a text with every occurrence of another replaced.

use super::replace_one::{FIELDS, texts};
use super::*;

pub(crate) const FORM: Form = Form::NamedCharged(&FIELDS, run);

fn run(args: &NamedArgs<'_>, budget: &Budget) -> Result<Value> {
    let Some([input, find, replacement]) = texts("$replaceAll", args)? else {
        return Ok(Value::Null);
    };
    let mut all = String::new();
    let mut rest = 0;
    for (at, found) in input.match_indices(find) {
        let before = input.get(rest..at).unwrap_or_default();
        budget.charge(before.len() + replacement.len())?;
        all.push_str(before);
        all.push_str(replacement);
        rest = at + found.len();
    }
    let behind = input.get(rest..).unwrap_or_default();
    budget.charge(behind.len())?;
    all.push_str(behind);
    Ok(Value::from(all))
}
