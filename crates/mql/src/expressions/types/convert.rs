//! `$convert`: a value in another type, with answers for null and for failure.

use super::text::double_text;
use super::*;
use crate::expressions::date::{iso_text, parse_text};

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[
        ("input", 9),
        ("to", 9),
        ("onError", OPTIONAL),
        ("onNull", OPTIONAL),
    ],
    not_object: 9,
    unknown: 9,
};

/// The types that values can be changed to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Bool,
    Date,
    Decimal,
    Double,
    Int,
    Long,
    ObjectId,
    Text,
    Uuid,
    /// A type that nothing can be changed to, by its number.
    Other(i32),
}

#[derive(Debug)]
struct Convert {
    input: Expr,
    to: Expr,
    on_error: Option<Expr>,
    on_null: Option<Expr>,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let mut parts = FIELDS.parse(operator, spec, names)?.into_iter();
    let mut part = || parts.next().flatten();
    let literal = |part: Option<Expr>| part.unwrap_or(Expr::Literal(Value::Undefined));
    Ok(Expr::lazy(Convert {
        input: literal(part()),
        to: literal(part()),
        on_error: part(),
        on_null: part(),
    }))
}

impl Operator for Convert {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let input = self.input.get(scope)?;
        let to = self.to.get(scope)?;
        let target = match is_nullish(&to) {
            true => None,
            false => Some(read_target(&to)?),
        };
        if is_nullish(&input) {
            return match &self.on_null {
                Some(on_null) => on_null.eval(scope),
                None => Ok(Value::Null),
            };
        }
        let Some(target) = target else {
            return Ok(Value::Null);
        };
        match (convert(&input, target), &self.on_error) {
            (Err(error), Some(on_error)) if error.code == 241 => on_error.eval(scope),
            (converted, _) => converted,
        }
    }
}

fn read_target(to: &Value) -> Result<Target> {
    let number = match to {
        Value::String(name) => bson::type_by_alias(name)
            .or((name == "missing").then_some(0))
            .ok_or_else(|| MqlError::bad_value(format!("Unknown type name: {name}")))?,
        other => {
            let Some(number) = Num::of(other) else {
                let found = type_name(other);
                return Err(MqlError::failed_to_parse(format!(
                    "$convert's 'to' argument must be a string or number, but is {found}"
                )));
            };
            let number = number.to_i32_exact().ok_or_else(|| {
                MqlError::failed_to_parse("In $convert, numeric 'to' argument is not an integer")
            })?;
            if number != 0 && bson::type_alias(number).is_none() {
                return Err(MqlError::failed_to_parse(format!(
                    "In $convert, numeric value for 'to' does not correspond to a BSON type: {number}"
                )));
            }
            number
        }
    };
    Ok(match number {
        1 => Target::Double,
        2 => Target::Text,
        7 => Target::ObjectId,
        8 => Target::Bool,
        9 => Target::Date,
        16 => Target::Int,
        18 => Target::Long,
        19 => Target::Decimal,
        other => Target::Other(other),
    })
}

/// The value in the other type.
pub(super) fn convert(value: &Value, target: Target) -> Result<Value> {
    match target {
        Target::Bool => Ok(Value::Bool(is_true(value))),
        Target::Date => to_date(value),
        Target::Decimal => to_decimal(value),
        Target::Double => to_double(value),
        Target::Int => {
            let n = to_whole(value, "int", i64::from(i32::MIN), i64::from(i32::MAX))?;
            Ok(Value::Int32(n as i32))
        }
        Target::Long => to_whole(value, "long", i64::MIN, i64::MAX).map(Value::Int64),
        Target::ObjectId => to_object_id(value),
        Target::Text => to_text(value),
        Target::Uuid => to_uuid(value),
        Target::Other(number) => {
            let name = bson::type_alias(number).unwrap_or("missing");
            Err(unsupported(value, name))
        }
    }
}

fn unsupported(value: &Value, to: &str) -> MqlError {
    let from = type_name(value);
    failure(format!(
        "Unsupported conversion from {from} to {to} in $convert with no onError value"
    ))
}

fn unreadable(text: &str, why: &str) -> MqlError {
    failure(format!(
        "Failed to parse number '{text}' in $convert with no onError value: {why}"
    ))
}

fn to_whole(value: &Value, name: &str, min: i64, max: i64) -> Result<i64> {
    let overflow = || {
        failure(format!(
            "Conversion would overflow target type in $convert with no onError value: {value}"
        ))
    };
    let whole = match value {
        Value::Bool(truth) => i64::from(*truth),
        Value::Date(millis) if name == "long" => *millis,
        Value::String(text) => parse_whole(text)?,
        other => {
            let number = Num::of(other).ok_or_else(|| unsupported(value, name))?;
            if number.is_nan() {
                return Err(failure(
                    "Attempt to convert NaN value to integer type in $convert with no onError value",
                ));
            }
            if !number.to_f64().is_finite() {
                return Err(failure(
                    "Attempt to convert infinity value to integer type in $convert with no onError value",
                ));
            }
            if let Num::Double(n) = number
                && (n < min as f64 || n > max as f64)
            {
                // Also where only its fraction is beyond.
                return Err(overflow());
            }
            number.to_i64_truncated().ok_or_else(overflow)?
        }
    };
    match (min..=max).contains(&whole) {
        true => Ok(whole),
        false => Err(overflow()),
    }
}

fn parse_whole(text: &str) -> Result<i64> {
    if text.is_empty() {
        return Err(unreadable(text, "No digits"));
    }
    text.parse()
        .map_err(|_| unreadable(text, "Did not consume whole string."))
}

fn to_double(value: &Value) -> Result<Value> {
    match value {
        Value::Bool(truth) => Ok(Value::Double(f64::from(u8::from(*truth)))),
        Value::Date(millis) => Ok(Value::Double(*millis as f64)),
        Value::String(text) => parse_double(text).map(Value::Double),
        Value::Decimal128(bytes) => {
            let n = Decimal128::from_bytes(bytes);
            let double = n.to_f64();
            match double.is_infinite() && n.is_finite() {
                true => Err(failure(format!(
                    "Conversion would overflow target type in $convert with no onError value: {n}"
                ))),
                false => Ok(Value::Double(double)),
            }
        }
        other => match Num::of(other) {
            Some(number) => Ok(Value::Double(number.to_f64())),
            None => Err(unsupported(value, "double")),
        },
    }
}

/// Rust reads what C reads, but for hexadecimal digits, which are refused, and white space.
fn parse_double(text: &str) -> Result<f64> {
    let n: f64 = text
        .parse()
        .map_err(|_| unreadable(text, "Did not consume whole string."))?;
    let named = text.to_ascii_lowercase().contains("inf");
    match n.is_infinite() && !named {
        true => Err(unreadable(text, "Out of range")),
        false => Ok(n),
    }
}

fn to_decimal(value: &Value) -> Result<Value> {
    match value {
        Value::Bool(truth) => Ok(decimal(Decimal128::from(i64::from(*truth)))),
        Value::Date(millis) => Ok(decimal(Decimal128::from(*millis))),
        Value::String(text) => match text.parse::<Decimal128>() {
            Ok(n) => Ok(decimal(n)),
            Err(_) => Err(unreadable(text, "Failed to parse string to decimal")),
        },
        other => match Num::of(other) {
            Some(number) => Ok(decimal(number.to_decimal())),
            None => Err(unsupported(value, "decimal")),
        },
    }
}

fn to_date(value: &Value) -> Result<Value> {
    match value {
        Value::Date(_) => Ok(value.clone()),
        Value::Timestamp(stamp) => Ok(Value::Date((stamp >> 32) as i64 * 1000)),
        Value::ObjectId([a, b, c, d, ..]) => {
            let seconds = u32::from_be_bytes([*a, *b, *c, *d]);
            Ok(Value::Date(i64::from(seconds) * 1000))
        }
        Value::String(text) => match parse_text(text, None) {
            Ok(millis) => Ok(Value::Date(millis)),
            Err(error) => Err(failure(error.message)),
        },
        Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
            to_whole(value, "long", i64::MIN, i64::MAX).map(Value::Date)
        }
        other => Err(unsupported(other, "date")),
    }
}

fn to_object_id(value: &Value) -> Result<Value> {
    match value {
        Value::ObjectId(_) => Ok(value.clone()),
        Value::String(text) => {
            let bytes = hex(text).and_then(|bytes| <[u8; 12]>::try_from(bytes).ok());
            bytes.map(Value::ObjectId).ok_or_else(|| {
                failure(format!(
                    "Failed to parse objectId '{text}' in $convert with no onError value"
                ))
            })
        }
        other => Err(unsupported(other, "objectId")),
    }
}

fn to_uuid(value: &Value) -> Result<Value> {
    match value {
        Value::Binary { subtype: 4, .. } => Ok(value.clone()),
        Value::String(text) => {
            let groups: Vec<usize> = text.split('-').map(str::len).collect();
            let bytes = hex(&text.replace('-', "")).filter(|_| groups == [8, 4, 4, 4, 12]);
            bytes
                .map(|bytes| Value::Binary { subtype: 4, bytes })
                .ok_or_else(|| {
                    failure(format!(
                        "Failed to parse BinData '{text}' in $convert with no onError value: Input is not a valid UUID string."
                    ))
                })
        }
        other => Err(unsupported(other, "binData")),
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    };
    digits.chunks(2).map(byte).collect()
}

fn to_text(value: &Value) -> Result<Value> {
    Ok(Value::from(match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int32(n) => n.to_string(),
        Value::Int64(n) => n.to_string(),
        Value::Double(n) => double_text(*n),
        Value::Decimal128(bytes) => Decimal128::from_bytes(bytes).to_string(),
        Value::String(text) => text.to_string(),
        Value::Date(millis) => iso_text(*millis),
        Value::ObjectId(id) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::Binary { subtype: 4, bytes } if bytes.len() == 16 => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
            [
                part(0, 8),
                part(8, 12),
                part(12, 16),
                part(16, 20),
                part(20, 32),
            ]
            .join("-")
        }
        other => return Err(unsupported(other, "string")),
    }))
}
