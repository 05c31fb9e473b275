//! `$range`: whole numbers from a start to before an end.

use super::*;

pub(crate) const FORM: Form = Form::Charged(Count::Between(2, 3), run);

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    let start = bound(&args[0], (34443, 34444), "starting")?;
    let end = bound(&args[1], (34445, 34446), "ending")?;
    let step = match args.get(2) {
        Some(step) => bound(step, (34447, 34448), "step")?,
        None => 1,
    };
    if step == 0 {
        return Err(MqlError::new(
            34449,
            "$range requires a non-zero step value",
        ));
    }
    let span = if step > 0 { end - start } else { start - end };
    let count = (span.max(0) + step.abs() - 1) / step.abs();
    if count > RANGE_ELEMENTS_MAX {
        return Err(MqlError::new(
            crate::error::EXCEEDED_MEMORY_LIMIT,
            format!("$range would make {count} elements; {RANGE_ELEMENTS_MAX} are the limit"),
        ));
    }
    budget.charge(usize::try_from(count).unwrap_or(0) * VALUE_BYTES)?;
    let numbers = (0..count).map(|at| Value::Int32((start + at * step) as i32));
    Ok(Value::Array(numbers.collect()))
}

/// Elements that `$range` makes at most: as many as 100 MiB of memory hold.
const RANGE_ELEMENTS_MAX: i64 = 100 * 1024 * 1024 / size_of::<Value>() as i64;

fn bound(value: &Value, (not_number, not_whole): (i32, i32), which: &str) -> Result<i64> {
    let Some(number) = Num::of(value) else {
        let found = type_name(value);
        let message =
            format!("$range requires a numeric {which} value, found value of type: {found}");
        return Err(MqlError::new(not_number, message));
    };
    number.to_i32_exact().map(i64::from).ok_or_else(|| {
        let message = format!(
            "$range requires a {which} value that can be represented as a 32-bit integer, found value: {value}"
        );
        MqlError::new(not_whole, message)
    })
}
