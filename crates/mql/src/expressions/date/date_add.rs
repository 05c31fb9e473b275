//! `$dateAdd`: a date so many units later.

use super::*;

pub(crate) const FORM: Form = Form::Named(&FIELDS, run);

pub(super) const FIELDS: Fields = Fields {
    names: &[
        ("startDate", 5166402),
        ("unit", 5166402),
        ("amount", 5166402),
        ("timezone", OPTIONAL),
    ],
    not_object: 5166400,
    unknown: 5166401,
};

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    shift("$dateAdd", args, 1)
}

/// Moves a date forwards or, by the sign, backwards.
pub(super) fn shift(operator: &str, args: &NamedArgs<'_>, sign: i64) -> Result<Value> {
    let (date, unit, amount) = (named(args, 0), named(args, 1), named(args, 2));
    if is_nullish(date) || is_nullish(unit) || is_nullish(amount) {
        return Ok(Value::Null);
    }
    let Some(zone) = named_zone(args, 3)? else {
        return Ok(Value::Null);
    };
    let refused = |code, what: &str| MqlError::new(code, format!("{operator} {what}"));
    let start = instant(date)
        .ok_or_else(|| refused(5166403, "requires startDate to be convertible to a date"))?;
    let name = unit
        .as_str()
        .ok_or_else(|| refused(5166404, "expects string defining the time unit"))?;
    let unit = Unit::parse(name)
        .ok_or_else(|| MqlError::failed_to_parse(format!("unknown time unit value: {name}")))?;
    let amount = Num::of(amount)
        .and_then(Num::to_i64_exact)
        .ok_or_else(|| refused(5166405, "expects integer amount of time units"))?;
    let moved = amount.checked_mul(sign);
    match moved.and_then(|moved| add_units(start, unit, moved, &zone)) {
        Some(millis) => Ok(Value::Date(millis)),
        None => Err(MqlError::new(
            5976500,
            format!("invalid {operator} 'amount' parameter value: {amount} {name}"),
        )),
    }
}
