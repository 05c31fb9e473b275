//! `$dateFromString`: a date from text, in a format or in any of the common ones.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[
        ("dateString", 40542),
        ("format", OPTIONAL),
        ("timezone", OPTIONAL),
        ("onNull", OPTIONAL),
        ("onError", OPTIONAL),
    ],
    not_object: 40540,
    unknown: 40541,
};

#[derive(Debug)]
struct FromText {
    text: Expr,
    format: Option<Expr>,
    zone: Option<Expr>,
    on_null: Option<Expr>,
    on_error: Option<Expr>,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let mut parts = FIELDS.parse(operator, spec, names)?.into_iter();
    let mut part = || parts.next().flatten();
    let from_text = FromText {
        text: part().unwrap_or(Expr::Literal(Value::Undefined)),
        format: part(),
        zone: part(),
        on_null: part(),
        on_error: part(),
    };
    Ok(Expr::lazy(from_text))
}

impl Operator for FromText {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let text = self.text.get(scope)?;
        let format = match &self.format {
            Some(format) => Some(format.eval(scope)?),
            None => None,
        };
        match &format {
            None | Some(Value::Null | Value::Undefined) => {}
            Some(Value::String(format)) => format::check(format, format::READ)?,
            Some(other) => {
                let message = format!(
                    "$dateFromString requires that 'format' be a string, found: {} with value {other}",
                    type_name(other)
                );
                return Err(MqlError::new(40684, message));
            }
        }
        let zone = match &self.zone {
            Some(zone) => named_zone(&[Some(zone.get(scope)?)], 0)?.map(Some),
            None => Some(None),
        };
        if is_nullish(&text) {
            return match &self.on_null {
                Some(on_null) => on_null.eval(scope),
                None => Ok(Value::Null),
            };
        }
        let Some(zone) = zone else {
            return Ok(Value::Null);
        };
        let read = match (text.as_str(), &format) {
            (None, _) => Err(MqlError::new(
                241,
                format!(
                    "$dateFromString requires that 'dateString' be a string, found: {} with value {}",
                    type_name(&text),
                    *text
                ),
            )),
            (Some(_), Some(Value::Null | Value::Undefined)) => return Ok(Value::Null),
            (Some(text), Some(Value::String(format))) => format::read(format, text, zone.as_ref()),
            (Some(text), _) => parse_text(text, zone.as_ref()),
        };
        match (read, &self.on_error) {
            (Ok(millis), _) => Ok(Value::Date(millis)),
            (Err(_), Some(on_error)) => on_error.eval(scope),
            (Err(error), None) => Err(error),
        }
    }
}
