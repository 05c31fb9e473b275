//! Values as MongoDB prints them in its messages: `{ a: 1, b: "s" }`.

use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::{Object, Value, number};

/// The value on its own.
pub fn show_value(value: &Value) -> String {
    match value {
        Value::Undefined => "undefined".into(),
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int32(n) => n.to_string(),
        Value::Int64(n) => n.to_string(),
        Value::Double(n) => show_f64(*n),
        Value::String(text) | Value::Symbol(text) => format!("\"{text}\""),
        Value::Array(elements) if elements.is_empty() => "[]".into(),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(show_value).collect();
            format!("[ {} ]", elements.join(", "))
        }
        Value::Object(object) => show_object(object),
        Value::Date(millis) => format!("new Date({millis})"),
        Value::ObjectId(id) => format!("ObjectId('{}')", hex(id)),
        Value::Binary { subtype, bytes } => {
            format!("BinData({subtype}, {})", hex(bytes).to_uppercase())
        }
        Value::Decimal128(bytes) => Decimal128::from_bytes(bytes).to_string(),
        Value::Timestamp(stamp) => format!("Timestamp({}, {})", stamp >> 32, stamp & 0xFFFF_FFFF),
        Value::Regex { pattern, options } => format!("/{pattern}/{options}"),
        Value::Code(code) => code.to_string(),
        Value::CodeWithScope { code, scope } => {
            format!("CodeWScope( {code}, {})", show_object(scope))
        }
        Value::DbPointer { ns, id } => format!("DBRef('{ns}', {})", hex(id)),
        Value::MinKey => "MinKey".into(),
        Value::MaxKey => "MaxKey".into(),
    }
}

/// The members between braces.
pub fn show_object(object: &Object) -> String {
    if object.is_empty() {
        return "{}".into();
    }
    let members: Vec<String> = object
        .iter()
        .map(|(name, value)| show_element(name, value))
        .collect();
    format!("{{ {} }}", members.join(", "))
}

/// The value behind its name.
pub fn show_element(name: &str, value: &Value) -> String {
    format!("{name}: {}", show_value(value))
}

/// A double with six digits at most, the way streams of C++ write it.
pub(crate) fn show_six_digits(n: f64) -> String {
    let exact = format!("{n:.5e}");
    let Some((digits, exponent)) = exact.split_once('e') else {
        return exact;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |digits: &str| match digits.contains('.') {
        true => digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => digits.to_owned(),
    };
    match exponent {
        -4..=5 => {
            let places = usize::try_from(5 - exponent).unwrap_or(0);
            trimmed(&format!("{n:.places$}"))
        }
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
        }
    }
}

/// Doubles show a point, so that they are not taken for integers.
fn show_f64(n: f64) -> String {
    if n.is_nan() {
        return "nan.0".into();
    }
    if n.is_infinite() {
        return if n > 0.0 {
            "inf.0".into()
        } else {
            "-inf.0".into()
        };
    }
    if n == 0.0 && n.is_sign_negative() {
        return "-0.0".into();
    }
    let text = number::to_string(n);
    match text.contains(['.', 'e']) {
        true => text,
        false => format!("{text}.0"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
