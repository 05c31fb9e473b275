//! `$dateDiff`: how many borders of a unit lie between two dates.

use super::*;

pub(crate) const FORM: Form = Form::Named(&FIELDS, run);

const FIELDS: Fields = Fields {
    names: &[
        ("startDate", 5166303),
        ("endDate", 5166304),
        ("unit", 5166305),
        ("timezone", OPTIONAL),
        ("startOfWeek", OPTIONAL),
    ],
    not_object: 5166301,
    unknown: 5166302,
};

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    if args.iter().take(3).flatten().any(|value| is_nullish(value)) {
        return Ok(Value::Null);
    }
    let Some(zone) = named_zone(args, 3)? else {
        return Ok(Value::Null);
    };
    let date = |at: usize, name: &str| {
        instant(named(args, at)).ok_or_else(|| {
            let found = type_name(named(args, at));
            let message = format!("$dateDiff requires '{name}' to be a date, but got {found}");
            MqlError::new(5166307, message)
        })
    };
    let (start, end) = (date(0, "startDate")?, date(1, "endDate")?);
    let unit = read_unit("$dateDiff", named(args, 2))?;
    let Some(weekday) = read_weekday("$dateDiff", args, 4, unit)? else {
        return Ok(Value::Null);
    };
    let count = unit::difference(start, end, unit, &zone, weekday);
    count
        .map(Value::Int64)
        .ok_or_else(|| MqlError::new(5166308, "dateDiff overflowed"))
}

/// Reads the name of a unit.
pub(super) fn read_unit(operator: &str, value: &Value) -> Result<Unit> {
    let Some(name) = value.as_str() else {
        let found = type_name(value);
        let message = format!("{operator} requires 'unit' to be a string, but got {found}");
        return Err(MqlError::new(5439013, message));
    };
    Unit::parse(name).ok_or_else(|| {
        let message = format!(
            "{operator} parameter 'unit' value cannot be recognized as a time unit: {name}"
        );
        MqlError::new(5439014, message)
    })
}

/// Reads on which day weeks begin: Sunday if it is not said. Only weeks ask; nothing means null.
pub(super) fn read_weekday(
    operator: &str,
    args: &NamedArgs<'_>,
    at: usize,
    unit: Unit,
) -> Result<Option<i64>> {
    let given = args.get(at).and_then(Option::as_deref);
    match given {
        None => Ok(Some(0)),
        Some(_) if unit != Unit::Week => Ok(Some(0)),
        Some(value) if is_nullish(value) => Ok(None),
        Some(Value::String(name)) => match unit::parse_weekday(name) {
            Some(weekday) => Ok(Some(weekday)),
            None => Err(MqlError::new(
                5439016,
                format!(
                    "{operator} parameter 'startOfWeek' value cannot be recognized as a day of a week: {name}"
                ),
            )),
        },
        Some(other) => {
            let found = type_name(other);
            let message =
                format!("{operator} requires 'startOfWeek' to be a string, but got {found}");
            Err(MqlError::new(5439015, message))
        }
    }
}
