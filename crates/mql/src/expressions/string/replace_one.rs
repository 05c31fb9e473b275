//! `$replaceOne`: a text with the first occurrence of another replaced.

use super::*;

pub(crate) const FORM: Form = Form::NamedCharged(&FIELDS, run);

pub(super) const FIELDS: Fields = Fields {
    names: &[("input", 51749), ("find", 51748), ("replacement", 51747)],
    not_object: 51751,
    unknown: 51750,
};

fn run(args: &NamedArgs<'_>, budget: &Budget) -> Result<Value> {
    let Some([input, find, replacement]) = texts("$replaceOne", args)? else {
        return Ok(Value::Null);
    };
    budget.charge(input.len() + replacement.len())?;
    Ok(Value::from(input.replacen(find, replacement, 1)))
}

/// The three texts; nothing if one is null or missing.
pub(super) fn texts<'a>(operator: &str, args: &'a NamedArgs<'_>) -> Result<Option<[&'a str; 3]>> {
    let mut found = [""; 3];
    let mut null = false;
    let kinds = [("input", 51746), ("find", 51745), ("replacement", 51744)];
    for (at, (name, code)) in kinds.into_iter().enumerate() {
        match named(args, at) {
            Value::String(text) => found[at] = text,
            other if is_nullish(other) => null = true,
            other => {
                let message =
                    format!("{operator} requires that '{name}' be a string, found: {other}");
                return Err(MqlError::new(code, message));
            }
        }
    }
    Ok((!null).then_some(found))
}
