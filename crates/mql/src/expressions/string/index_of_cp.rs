//! `$indexOfCP`: the place of a text in another, counted in code points, or -1.

use super::index_of_bytes::{bounds, two_texts};
use super::*;

pub(crate) const FORM: Form = Form::Between(2, 4, run);

fn run(args: &Args<'_>) -> Result<Value> {
    if is_nullish(&args[0]) {
        return Ok(Value::Null);
    }
    let (input, token) = two_texts("$indexOfCP", args, (40093, 40094))?;
    let signs: Vec<char> = input.chars().collect();
    let token: Vec<char> = token.chars().collect();
    let Some((start, end)) = bounds("$indexOfCP", args, signs.len())? else {
        return Ok(Value::Int32(-1));
    };
    let fits = |at: &usize| signs[*at..end].starts_with(&token);
    // An empty text is found in an empty text, but behind none.
    let found = match signs.is_empty() && token.is_empty() {
        true => Some(0),
        false => (start..end).find(fits),
    };
    Ok(Value::Int32(found.map_or(-1, |at| at as i32)))
}
