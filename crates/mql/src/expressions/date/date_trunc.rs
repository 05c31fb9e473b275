//! `$dateTrunc`: the start of the unit, or of the bin of units, that holds a date.

use super::date_diff::{read_unit, read_weekday};
use super::*;

pub(crate) const FORM: Form = Form::Named(&FIELDS, run);

const FIELDS: Fields = Fields {
    names: &[
        ("date", 5439009),
        ("unit", 5439010),
        ("binSize", OPTIONAL),
        ("timezone", OPTIONAL),
        ("startOfWeek", OPTIONAL),
    ],
    not_object: 5439007,
    unknown: 5439008,
};

/// Units that a bin has at most: a hundred thousand years of milliseconds.
const BIN_SIZE_MAX: i64 = 100_000_000_000;

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    if args.iter().take(3).flatten().any(|value| is_nullish(value)) {
        return Ok(Value::Null);
    }
    let Some(zone) = named_zone(args, 3)? else {
        return Ok(Value::Null);
    };
    let date = named(args, 0);
    let millis = instant(date).ok_or_else(|| {
        let found = type_name(date);
        let message = format!("$dateTrunc requires 'date' to be a date, but got {found}");
        MqlError::new(5439012, message)
    })?;
    let unit = read_unit("$dateTrunc", named(args, 1))?;
    let size = match args.get(2).and_then(Option::as_deref) {
        Some(size) => read_size(size)?,
        None => 1,
    };
    let Some(weekday) = read_weekday("$dateTrunc", args, 4, unit)? else {
        return Ok(Value::Null);
    };
    let start = unit::truncate(millis, unit, size, &zone, weekday);
    start
        .map(Value::Date)
        .ok_or_else(|| MqlError::new(5439006, "dateTrunc unsupported binSize value"))
}

fn read_size(value: &Value) -> Result<i64> {
    let size = Num::of(value).and_then(Num::to_i64_exact).ok_or_else(|| {
        let message = format!(
            "$dateTrunc requires 'binSize' to be a 64-bit integer, but got value '{value}' of type {}",
            type_name(value)
        );
        MqlError::new(5439017, message)
    })?;
    if size <= 0 {
        let message =
            format!("$dateTrunc requires 'binSize' to be greater than 0, but got value {size}");
        return Err(MqlError::new(5439018, message));
    }
    match size <= BIN_SIZE_MAX {
        true => Ok(size),
        false => Err(MqlError::new(
            5439006,
            "dateTrunc unsupported binSize value",
        )),
    }
}
