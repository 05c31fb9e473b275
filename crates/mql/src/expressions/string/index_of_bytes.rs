//! `$indexOfBytes`: the place of a text in another, counted in bytes, or -1.

use super::*;

pub(crate) const FORM: Form = Form::Between(2, 4, run);

fn run(args: &Args<'_>) -> Result<Value> {
    if is_nullish(&args[0]) {
        return Ok(Value::Null);
    }
    let (input, token) = two_texts("$indexOfBytes", args, (40091, 40092))?;
    let Some((start, end)) = bounds("$indexOfBytes", args, input.len())? else {
        return Ok(Value::Int32(-1));
    };
    let window = &input.as_bytes()[start..end];
    let found = match token.is_empty() {
        true => Some(0),
        false => memchr::memmem::find(window, token.as_bytes()),
    };
    Ok(Value::Int32(found.map_or(-1, |at| (start + at) as i32)))
}

/// The text and what is looked for in it.
pub(super) fn two_texts<'a>(
    operator: &str,
    args: &'a Args<'_>,
    (first, second): (i32, i32),
) -> Result<(&'a str, &'a str)> {
    let text = |at: usize, code: i32, which: &str| {
        args[at].as_str().ok_or_else(|| {
            let found = type_name(&args[at]);
            let message =
                format!("{operator} requires a string as the {which} argument, found: {found}");
            MqlError::new(code, message)
        })
    };
    Ok((text(0, first, "first")?, text(1, second, "second")?))
}

/// From where to where to look; nothing if the start lies behind the text or the end.
pub(super) fn bounds(
    operator: &str,
    args: &Args<'_>,
    length: usize,
) -> Result<Option<(usize, usize)>> {
    let bound = |at: usize, which: &str| {
        let value = args.get(at);
        value
            .map(|value| read_bound(operator, value, which))
            .transpose()
    };
    let start = bound(2, "starting")?.unwrap_or(0);
    let end = bound(3, "ending")?.unwrap_or(length).min(length);
    Ok((start <= end).then_some((start, end)))
}
