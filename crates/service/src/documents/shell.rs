//! Values as error texts show them: the way the shell writes them.

use std::fmt::Write;

use lapsedb_value::{Object, Value};

/// A value as the shell writes it.
#[must_use]
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    let _ = match value {
        Value::Undefined => write!(out, "undefined"),
        Value::Null => write!(out, "null"),
        Value::Bool(truth) => write!(out, "{truth}"),
        Value::Int32(n) => write!(out, "{n}"),
        Value::Int64(n) => write!(out, "{n}"),
        Value::Double(n) => return write_double(*n, out),
        Value::String(text) | Value::Symbol(text) => write!(out, "\"{text}\""),
        Value::Array(elements) => return write_list(elements, out),
        Value::Object(object) => return write_object(object, out),
        Value::Date(millis) => write!(out, "new Date({millis})"),
        Value::ObjectId(bytes) => write!(out, "ObjectId('{}')", hex(bytes)),
        Value::Binary { subtype: 4, bytes } if bytes.len() == 16 => {
            let text = hex(bytes);
            let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
            write!(
                out,
                "UUID(\"{}-{}-{}-{}-{}\")",
                part(0..8),
                part(8..12),
                part(12..16),
                part(16..20),
                part(20..32)
            )
        }
        Value::Binary { subtype, bytes } => {
            write!(out, "BinData({subtype}, {})", hex(bytes).to_uppercase())
        }
        Value::Timestamp(stamp) => {
            write!(out, "Timestamp({}, {})", stamp >> 32, stamp & 0xFFFF_FFFF)
        }
        Value::Regex { pattern, options } => write!(out, "/{pattern}/{options}"),
        Value::MinKey => write!(out, "MinKey"),
        Value::MaxKey => write!(out, "MaxKey"),
        Value::Decimal128(_)
        | Value::Code(_)
        | Value::CodeWithScope { .. }
        | Value::DbPointer { .. } => write!(out, "{value}"),
    };
}

fn write_double(n: f64, out: &mut String) {
    let _ = if n.is_finite() && n.fract() == 0.0 && n.abs() < 1e15 {
        write!(out, "{n:.1}")
    } else if n.is_infinite() {
        write!(out, "{}", if n > 0.0 { "inf.0" } else { "-inf.0" })
    } else if n.is_nan() {
        write!(out, "nan.0")
    } else {
        write!(out, "{n}")
    };
}

fn write_list(elements: &[Value], out: &mut String) {
    if elements.is_empty() {
        out.push_str("[]");
        return;
    }
    out.push_str("[ ");
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write(element, out);
    }
    out.push_str(" ]");
}

fn write_object(object: &Object, out: &mut String) {
    if object.is_empty() {
        out.push_str("{}");
        return;
    }
    out.push_str("{ ");
    for (at, (name, value)) in object.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        let _ = write!(out, "{name}: ");
        write(value, out);
    }
    out.push_str(" }");
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_look_as_in_the_shell() {
        let mut object = Object::new();
        object.push("a", 1);
        object.push("b", Value::Double(2.0));
        for (value, wanted) in [
            (Value::Double(1.0), "1.0"),
            (Value::Double(0.5), "0.5"),
            (Value::Int64(1), "1"),
            (Value::from("s"), "\"s\""),
            (Value::Null, "null"),
            (Value::Array(vec![Value::Int32(1)]), "[ 1 ]"),
            (Value::Object(object), "{ a: 1, b: 2.0 }"),
            (Value::Array(Vec::new()), "[]"),
            (Value::Object(Object::new()), "{}"),
            (Value::Date(5), "new Date(5)"),
        ] {
            assert_eq!(text(&value), wanted);
        }
    }
}
