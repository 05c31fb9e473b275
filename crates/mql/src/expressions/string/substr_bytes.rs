//! `$substrBytes`, also written `$substr`: a part of a text, counted in bytes.

use super::super::numeric::{coerce_to_long, is_numeric};
use super::*;

pub(crate) const FORM: Form = Form::Exactly(3, run);

fn run(args: &Args<'_>) -> Result<Value> {
    let text = loose_text(&args[0])?;
    let number = |at: usize, code: i32, what: &str| {
        if !is_numeric(&args[at]) {
            let found = type_name(&args[at]);
            let message =
                format!("$substrBytes:  {what} must be a numeric type (is BSON type {found})");
            return Err(MqlError::new(code, message));
        }
        coerce_to_long(&args[at])
    };
    let start = number(1, 16034, "starting index")?;
    let length = number(2, 16035, "length")?;
    let Ok(start) = usize::try_from(start) else {
        let message = format!("$substrBytes:  starting index must be non-negative (got: {start})");
        return Err(MqlError::new(50752, message));
    };
    // A negative length means up to the end.
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if start >= text.len() {
        return Ok(Value::from(""));
    }
    let end = start.saturating_add(length).min(text.len());
    if !text.is_char_boundary(start) {
        return Err(MqlError::new(
            28656,
            "$substrBytes:  Invalid range, starting index is a UTF-8 continuation byte.",
        ));
    }
    match text.get(start..end) {
        Some(part) => Ok(Value::from(part)),
        None => Err(MqlError::new(
            28657,
            "$substrBytes:  Invalid range, ending index is in the middle of a UTF-8 character.",
        )),
    }
}
