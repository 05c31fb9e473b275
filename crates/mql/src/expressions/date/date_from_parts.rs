//! `$dateFromParts`: a date from year, month and so on, or from an ISO week.

use super::civil::{days_of, iso_days_of};
use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[
        ("year", OPTIONAL),
        ("month", OPTIONAL),
        ("day", OPTIONAL),
        ("isoWeekYear", OPTIONAL),
        ("isoWeek", OPTIONAL),
        ("isoDayOfWeek", OPTIONAL),
        ("hour", OPTIONAL),
        ("minute", OPTIONAL),
        ("second", OPTIONAL),
        ("millisecond", OPTIONAL),
        ("timezone", OPTIONAL),
    ],
    not_object: 40519,
    unknown: 40518,
};

/// What months, days, hours and their like may be: 16 bits.
const PART_MIN: i64 = -32_768;
const PART_MAX: i64 = 32_767;
const YEAR_MIN: i64 = 1;
const YEAR_MAX: i64 = 9999;

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let args = FIELDS.parse(operator, spec, names)?;
    let given = |range: std::ops::Range<usize>| {
        let part = args.get(range);
        part.is_some_and(|part| part.iter().any(Option::is_some))
    };
    let refused = |code, what: &str| Err(MqlError::new(code, format!("$dateFromParts {what}")));
    match (given(0..1), given(3..4)) {
        (false, false) => refused(
            40516,
            "requires either 'year' or 'isoWeekYear' to be present",
        ),
        (true, _) if given(3..6) => {
            refused(40489, "does not allow mixing natural dates with ISO dates")
        }
        (false, true) if given(1..3) => {
            refused(40525, "does not allow mixing ISO dates with natural dates")
        }
        (true, _) | (false, true) => Ok(Expr::Named {
            run: RunNamed::Plain(run),
            args,
        }),
    }
}

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    let iso = args.get(3).is_some_and(Option::is_some);
    let mut parts = [0; 10];
    let mut read = |range: std::ops::Range<usize>| -> Result<bool> {
        for at in range {
            let name = FIELDS.names.get(at).map_or("", |(name, _)| name);
            match args.get(at).and_then(Option::as_deref) {
                None => parts[at] = i64::from(at < 6),
                Some(value) if is_nullish(value) => return Ok(false),
                Some(value) => parts[at] = read_part(name, value)?,
            }
        }
        Ok(true)
    };
    // The time of day, the zone, the day, and whether the year is one: in this order what is wrong or null is found.
    if !read(6..10)? {
        return Ok(Value::Null);
    }
    let Some(zone) = named_zone(args, 10)? else {
        return Ok(Value::Null);
    };
    if !read(0..6)? {
        return Ok(Value::Null);
    }
    let (name, named_year, code) = match iso {
        true => ("isoWeekYear", parts[3], 31095),
        false => ("year", parts[0], 40523),
    };
    if !(YEAR_MIN..=YEAR_MAX).contains(&named_year) {
        let message = format!(
            "'{name}' must evaluate to an integer in the range {YEAR_MIN} to {YEAR_MAX}, found {named_year}"
        );
        return Err(MqlError::new(code, message));
    }
    let [
        year,
        month,
        day,
        iso_year,
        week,
        weekday,
        hour,
        minute,
        second,
        millisecond,
    ] = parts;
    let days = match iso {
        true => iso_days_of(iso_year, week, weekday),
        false => days_of(year, month, day),
    };
    let time = hour * HOUR + minute * MINUTE;
    // Seconds and milliseconds have no bound of their own.
    let local = second
        .checked_mul(SECOND)
        .and_then(|seconds| seconds.checked_add(millisecond))
        .and_then(|rest| rest.checked_add(days * DAY + time));
    match local.and_then(|local| zone.instant_of(local)) {
        Some(instant) => Ok(Value::Date(instant)),
        None => Err(MqlError::new(15, "date overflow in $dateFromParts")),
    }
}

fn read_part(name: &str, value: &Value) -> Result<i64> {
    let Some(part) = Num::of(value).and_then(Num::to_i64_exact) else {
        let found = type_name(value);
        let message =
            format!("'{name}' must evaluate to an integer, found {found} with value {value}");
        return Err(MqlError::new(40515, message));
    };
    match name {
        "year" | "isoWeekYear" | "second" | "millisecond" => Ok(part),
        _ if !(PART_MIN..=PART_MAX).contains(&part) => {
            let message = format!(
                "'{name}' must evaluate to a value in the range [{PART_MIN}, {PART_MAX}]; value {part} is not in range"
            );
            Err(MqlError::new(31034, message))
        }
        _ => Ok(part),
    }
}
