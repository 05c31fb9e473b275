//! Bounds of an index as text, as clients of MongoDB know them: `[1, 5)`.

use lapsedb_mql::filter::{Edge, Interval};
use lapsedb_value::{Object, Value};

use super::bounds::is_descending;
use super::candidates::Candidate;
use crate::documents::shell::text;

/// For each field of an index its intervals, in the order in which they are read.
pub(super) fn shown_bounds(candidate: &Candidate<'_>, reverse: bool) -> Object {
    let index = candidate.index;
    let mut bounds = Object::with_capacity(index.parts.len());
    if let Some(path) = &candidate.bounds.wild {
        let path = text(&Value::from(path.as_str()));
        let both = Value::from(format!("[{path}, {path}]"));
        bounds.push("$_path", Value::Array(vec![both]));
    }
    for (at, part) in index.parts.iter().enumerate() {
        let backward = is_descending(index, at) != reverse;
        let intervals = candidate.bounds.fields.get(at).and_then(Option::as_ref);
        let mut shown: Vec<Value> = match intervals {
            Some(intervals) => intervals
                .iter()
                .map(|interval| Value::from(shown(interval, backward)))
                .collect(),
            None if backward => vec![Value::from("[MaxKey, MinKey]")],
            None => vec![Value::from("[MinKey, MaxKey]")],
        };
        if backward {
            shown.reverse();
        }
        let name = match &candidate.bounds.wild {
            Some(path) => path.as_str(),
            None => part.path.as_str(),
        };
        bounds.push(name, Value::Array(shown));
    }
    bounds
}

fn shown(interval: &Interval, backward: bool) -> String {
    let (low, low_in) = match (&interval.low, &interval.high) {
        // All numbers but NaN, unless all are meant.
        (Edge::ClassStart(10), Edge::Before(_) | Edge::After(_)) => ("-inf.0".to_owned(), true),
        (Edge::ClassStart(class), _) => (class_start(*class).to_owned(), true),
        (Edge::Before(value), _) => (value_text(value), true),
        (Edge::After(value), _) => (value_text(value), false),
        (Edge::ClassEnd(class), _) => class_end(*class),
    };
    let (high, high_in) = match &interval.high {
        Edge::ClassEnd(class) => class_end(*class),
        Edge::After(value) => (value_text(value), true),
        Edge::Before(value) => (value_text(value), false),
        Edge::ClassStart(class) => (class_start(*class).to_owned(), false),
    };
    let (open, close) = (
        |inside: bool| if inside { '[' } else { '(' },
        |inside: bool| if inside { ']' } else { ')' },
    );
    if backward {
        format!("{}{high}, {low}{}", open(high_in), close(low_in))
    } else {
        format!("{}{low}, {high}{}", open(low_in), close(high_in))
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Double(number) if number.is_infinite() => {
            let sign = if *number < 0.0 { "-" } else { "" };
            format!("{sign}inf.0")
        }
        Value::Double(number) if number.is_nan() => "nan.0".to_owned(),
        Value::Date(ms) => format!("new Date({ms})"),
        other => text(other),
    }
}

/// The first value of a class of types.
const fn class_start(class: u8) -> &'static str {
    match class {
        5 => "null",
        10 => "nan.0",
        15 => "\"\"",
        20 => "{}",
        25 => "[]",
        30 => "BinData(0, )",
        35 => "ObjectId('000000000000000000000000')",
        40 => "false",
        45 => "new Date(-9223372036854775808)",
        47 => "Timestamp(0, 0)",
        _ => "MinKey",
    }
}

/// The last value of a class of types, or the first one behind it.
fn class_end(class: u8) -> (String, bool) {
    let (last, inside) = match class {
        5 => ("null", true),
        10 => ("inf.0", true),
        15 => (class_start(20), false),
        20 => (class_start(25), false),
        25 => (class_start(30), false),
        30 => (class_start(35), false),
        35 => ("ObjectId('ffffffffffffffffffffffff')", true),
        40 => ("true", true),
        45 => ("new Date(9223372036854775807)", true),
        47 => ("Timestamp(4294967295, 4294967295)", true),
        _ => ("MaxKey", true),
    };
    (last.to_owned(), inside)
}
