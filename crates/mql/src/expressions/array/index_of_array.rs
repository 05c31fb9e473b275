//! `$indexOfArray`: the place of a value in an array, or -1.

use super::*;

pub(crate) const FORM: Form = Form::Between(2, 4, run);

fn run(args: &Args<'_>) -> Result<Value> {
    if is_nullish(&args[0]) {
        return Ok(Value::Null);
    }
    let Some(elements) = args[0].as_array() else {
        let found = type_name(&args[0]);
        let message =
            format!("$indexOfArray requires an array as a first argument, found: {found}");
        return Err(MqlError::new(40090, message));
    };
    let bound = |at: usize, which: &str| {
        let value = args.get(at);
        value
            .map(|value| read_bound("$indexOfArray", value, which))
            .transpose()
    };
    let start = bound(2, "starting")?.unwrap_or(0);
    let end = bound(3, "ending")?
        .unwrap_or(usize::MAX)
        .min(elements.len());
    let among = elements.iter().enumerate().take(end).skip(start);
    let found = among
        .into_iter()
        .find(|(_, element)| equal(element, &args[1]));
    Ok(Value::Int32(found.map_or(-1, |(at, _)| at as i32)))
}
