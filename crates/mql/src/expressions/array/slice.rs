//! `$slice`: a run of elements.

use super::*;

pub(crate) const FORM: Form = Form::Between(2, 3, run);

fn run(args: &Args<'_>) -> Result<Value> {
    if is_nullish(&args[0]) || is_nullish(&args[1]) {
        return Ok(Value::Null);
    }
    let Some(elements) = args[0].as_array() else {
        let found = type_name(&args[0]);
        let message = format!("First argument to $slice must be an array, but is of type: {found}");
        return Err(MqlError::new(28724, message));
    };
    let second = whole(&args[1], (28725, 28726), "Second argument to $slice")?;
    let length = elements.len() as i64;
    let (start, count) = match args.get(2) {
        None if second < 0 => ((length + second).max(0), length),
        None => (0, second),
        Some(third) if is_nullish(third) => return Ok(Value::Null),
        Some(third) => {
            let count = whole(third, (28727, 28728), "Third argument to $slice")?;
            if count <= 0 {
                let message = format!("Third argument to $slice must be positive: {count}");
                return Err(MqlError::new(28729, message));
            }
            let start = if second < 0 {
                (length + second).max(0)
            } else {
                second
            };
            (start, count)
        }
    };
    let run = elements.iter().skip(start as usize).take(count as usize);
    Ok(Value::Array(run.cloned().collect()))
}

/// A whole number of 32 bits; the codes are of no number at all, and of one that is not whole or too large.
fn whole(value: &Value, (not_number, not_whole): (i32, i32), what: &str) -> Result<i64> {
    let Some(number) = Num::of(value) else {
        let found = type_name(value);
        let message = format!("{what} must be a numeric value, but is of type: {found}");
        return Err(MqlError::new(not_number, message));
    };
    number.to_i32_exact().map(i64::from).ok_or_else(|| {
        let message = format!("{what} can't be represented as a 32-bit integer: {value}");
        MqlError::new(not_whole, message)
    })
}
