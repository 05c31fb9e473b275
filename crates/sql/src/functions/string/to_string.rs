//! `ToString`: a value as text; strings stay as they are.

use lapsedb_value::{Value, json};

use crate::functions::args::{self, Args};
use crate::functions::number_text;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(match args::defined(args, 0)? {
        Value::String(text) => Value::String(text.clone()),
        Value::Double(n) => Value::from(number_text::of_double(*n)),
        value => {
            let mut out = Vec::new();
            write(value, &mut out);
            Value::from(String::from_utf8(out).ok()?)
        }
    })
}

/// The value as JSON, but for the digits of numbers. What no JSON number says is quoted.
fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Double(n) if n.is_finite() => {
            out.extend_from_slice(number_text::of_double(*n).as_bytes());
        }
        Value::Double(n) => json::write_str(&number_text::of_double(*n), out),
        Value::Array(items) => {
            out.push(b'[');
            let items = items.iter().filter(|item| !item.is_undefined());
            for (at, item) in items.enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(object) => {
            out.push(b'{');
            let members = object.iter().filter(|(_, value)| !value.is_undefined());
            for (at, (name, value)) in members.enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                json::write_str(name, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
        value => json::write(value, out),
    }
}
