//! `$dateToString`: a date as text in a format.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[
        ("format", OPTIONAL),
        ("date", 18628),
        ("timezone", OPTIONAL),
        ("onNull", OPTIONAL),
    ],
    not_object: 18629,
    unknown: 18534,
};

const FORMAT_DEFAULT: &str = "%Y-%m-%dT%H:%M:%S.%LZ";

#[derive(Debug)]
struct ToText {
    format: Option<Expr>,
    date: Expr,
    zone: Option<Expr>,
    on_null: Option<Expr>,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let mut parts = FIELDS.parse(operator, spec, names)?.into_iter();
    let mut part = || parts.next().flatten();
    let to_text = ToText {
        format: part(),
        date: part().unwrap_or(Expr::Literal(Value::Undefined)),
        zone: part(),
        on_null: part(),
    };
    Ok(Expr::lazy(to_text))
}

impl Operator for ToText {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let date = self.date.get(scope)?;
        let format = match &self.format {
            None => Some(Value::from(FORMAT_DEFAULT)),
            Some(format) => match format.eval(scope)? {
                other if is_nullish(&other) => None,
                text @ Value::String(_) => Some(text),
                other => {
                    let message = format!(
                        "$dateToString requires that 'format' be a string, found: {} with value {other}",
                        type_name(&other)
                    );
                    return Err(MqlError::new(18533, message));
                }
            },
        };
        if let Some(format) = format.as_ref().and_then(Value::as_str) {
            format::check(format, format::PRINTED)?;
        }
        let zone = match &self.zone {
            Some(zone) => Some(zone.get(scope)?),
            None => None,
        };
        let zone = named_zone(&[zone], 0)?;
        if is_nullish(&date) {
            return match &self.on_null {
                Some(on_null) => on_null.eval(scope),
                None => Ok(Value::Null),
            };
        }
        let (Some(format), Some(zone)) = (format, zone) else {
            return Ok(Value::Null);
        };
        let millis = read_instant(&date)?;
        let format = format.as_str().unwrap_or_default();
        format::print(format, millis, &zone).map(Value::from)
    }
}
