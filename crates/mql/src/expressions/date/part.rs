//! What the operators that take a part of a date share: `{$year: date}` and `{$year: {date, timezone}}`.

use super::*;

/// The answer for a date and time.
pub(super) type Take = fn(Civil) -> Value;

#[derive(Debug)]
struct Part {
    operator: &'static str,
    date: Expr,
    zone: Option<Expr>,
    take: Take,
}

const FIELDS: Fields = Fields {
    names: &[("date", 40539), ("timezone", OPTIONAL)],
    not_object: 40535,
    unknown: 40535,
};

pub(super) fn parse(
    operator: &'static str,
    spec: &Value,
    names: &Names,
    take: Take,
) -> Result<Expr> {
    let is_expression =
        |object: &Object| object.keys().next().is_some_and(|key| key.starts_with('$'));
    let (date, zone) = match spec {
        Value::Object(object) if !is_expression(object) => {
            let mut parts = FIELDS.parse(operator, spec, names)?.into_iter();
            (parts.next().flatten(), parts.next().flatten())
        }
        Value::Array(elements) => match elements.as_slice() {
            [only] => (Some(Expr::parse(only, names)?), None),
            several => {
                let count = several.len();
                let message = format!(
                    "{operator} accepts exactly one argument if given an array, but was given {count}"
                );
                return Err(MqlError::new(40536, message));
            }
        },
        _ => (Some(Expr::parse(spec, names)?), None),
    };
    Ok(Expr::lazy(Part {
        operator,
        date: date.unwrap_or(Expr::Literal(Value::Undefined)),
        zone,
        take,
    }))
}

impl Operator for Part {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let date = self.date.get(scope)?;
        if is_nullish(&date) {
            return Ok(Value::Null);
        }
        let millis = read_instant(&date)?;
        let zone = match &self.zone {
            None => Zone::Utc,
            Some(zone) => match &*zone.get(scope)? {
                Value::String(name) => Zone::parse(name)?,
                other if is_nullish(other) => return Ok(Value::Null),
                other => {
                    let message = format!(
                        "{} requires a string for the timezone argument, but was given a {} ({other})",
                        self.operator,
                        type_name(other)
                    );
                    return Err(MqlError::new(40533, message));
                }
            },
        };
        Ok((self.take)(zone.local(millis)))
    }
}
