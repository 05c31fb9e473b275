//! `$split`: the parts between separators.

use super::*;

pub(crate) const FORM: Form = Form::Charged(Count::Exactly(2), run);

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    if any_nullish(args) {
        return Ok(Value::Null);
    }
    let text = |at: usize, code: i32, which: &str| {
        args[at].as_str().ok_or_else(|| {
            let found = type_name(&args[at]);
            let message = format!(
                "$split requires an expression that evaluates to a string as a {which} argument, found: {found}"
            );
            MqlError::new(code, message)
        })
    };
    let (input, separator) = (text(0, 40085, "first")?, text(1, 40086, "second")?);
    if separator.is_empty() {
        return Err(MqlError::new(
            40087,
            "$split requires a non-empty separator",
        ));
    }
    let mut parts = Vec::new();
    for part in input.split(separator) {
        budget.charge(VALUE_BYTES + text_bytes(part.len()))?;
        parts.push(Value::from(part));
    }
    Ok(Value::Array(parts))
}
