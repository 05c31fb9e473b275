//! `$dateToParts`: a date as an object of its parts.

use super::*;

pub(crate) const FORM: Form = Form::Named(&FIELDS, run);

const FIELDS: Fields = Fields {
    names: &[
        ("date", 40522),
        ("timezone", OPTIONAL),
        ("iso8601", OPTIONAL),
    ],
    not_object: 40524,
    unknown: 40520,
};

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    let Some(zone) = named_zone(args, 1)? else {
        return Ok(Value::Null);
    };
    let iso = match args.get(2).and_then(Option::as_deref) {
        None => false,
        Some(Value::Bool(truth)) => *truth,
        Some(value) if is_nullish(value) => return Ok(Value::Null),
        Some(other) => {
            let found = type_name(other);
            let message = format!("iso8601 must evaluate to a bool, found {found}");
            return Err(MqlError::new(40521, message));
        }
    };
    if is_nullish(named(args, 0)) {
        return Ok(Value::Null);
    }
    let time = zone.local(read_instant(named(args, 0))?);
    let mut parts = Object::with_capacity(7);
    match iso {
        true => {
            let (year, week) = time.iso_week();
            parts.push("isoWeekYear", year as i32);
            parts.push("isoWeek", week as i32);
            parts.push("isoDayOfWeek", time.iso_weekday() as i32);
        }
        false => {
            parts.push("year", time.year);
            parts.push("month", time.month);
            parts.push("day", time.day);
        }
    }
    parts.push("hour", time.hour);
    parts.push("minute", time.minute);
    parts.push("second", time.second);
    parts.push("millisecond", time.millisecond);
    Ok(Value::Object(parts))
}
