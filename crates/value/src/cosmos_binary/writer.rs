//! Values to Cosmos binary JSON.
//!
//! Of the many forms a value may have, few are written: the shortest integer, a double, a string by its number or with its length,
//! and containers with their lengths. The others (packed strings, references, arrays of one number type) save bytes and cost a
//! search for each string and array; every reader must know both.
//!
//! A container's length stands before what it counts. So values are written from their end to their beginning, each length once it
//! is known, and turned around as a whole: one pass, whatever the depth, and no bytes to move.

use super::{FORMAT_BINARY, system_strings};
use crate::json::{self, DEPTH_CEILING, Limits};
use crate::{Object, Value, number};

/// The first marker of arrays and that of objects; the seven after each say how their lengths are given.
const ARRAY: u8 = 0xE0;
const OBJECT: u8 = 0xE8;
/// From the first marker of a kind to that of a length and a count of one byte each, and of four.
const LENGTH_AND_COUNT: u8 = 5;
const LENGTH_AND_COUNT_WIDE: u8 = 7;
/// From the first marker of a kind to that of a length of one byte.
const LENGTH: u8 = 2;

/// Begins a body in binary JSON; one value follows.
#[must_use]
pub fn begin(capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity + 1);
    out.push(FORMAT_BINARY);
    out
}

/// The value as a body in binary JSON.
#[must_use]
pub fn encode(value: &Value) -> Vec<u8> {
    let mut out = begin(256);
    write(value, &mut out);
    out
}

/// Appends the value, without the first byte of a body. It says what [`json::write`] says of it: what is undefined is left out,
/// and the kinds that only BSON has become relaxed extended JSON.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    let begin = out.len();
    write_backwards(value, out);
    out[begin..].reverse();
}

/// Appends a string, or the name of a member.
pub fn write_str(text: &str, out: &mut Vec<u8>) {
    let begin = out.len();
    str_backwards(text, out);
    out[begin..].reverse();
}

/// A container that is written entry by entry: its length and count are filled in when it is closed.
#[derive(Debug)]
#[must_use]
pub struct Open {
    /// Where its entries begin.
    begin: usize,
}

/// Begins an array whose elements follow.
pub fn open_array(out: &mut Vec<u8>) -> Open {
    open(ARRAY, out)
}

/// Begins an object whose members follow, each a name and a value.
pub fn open_object(out: &mut Vec<u8>) -> Open {
    open(OBJECT, out)
}

fn open(kind: u8, out: &mut Vec<u8>) -> Open {
    out.push(kind + LENGTH_AND_COUNT_WIDE);
    out.extend_from_slice(&[0; 8]);
    Open { begin: out.len() }
}

impl Open {
    /// Ends the container, which has got so many elements or members.
    pub fn close(self, count: usize, out: &mut [u8]) {
        let length = wide(out.len() - self.begin).to_le_bytes();
        let count = wide(count).to_le_bytes();
        out[self.begin - 8..self.begin - 4].copy_from_slice(&length);
        out[self.begin - 4..self.begin].copy_from_slice(&count);
    }
}

/// The widest length there is. No answer comes near its end.
fn wide(length: usize) -> u32 {
    debug_assert!(u32::try_from(length).is_ok());
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn write_backwards(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Undefined => {}
        Value::Null => out.push(0xD0),
        Value::Bool(truth) => out.push(0xD1 + u8::from(*truth)),
        Value::Int32(n) => integer_backwards(i64::from(*n), out),
        Value::Int64(n) => integer_backwards(*n, out),
        // Equal numbers are written alike whatever their kind, as in text.
        Value::Double(n) => match number::to_i64_exact(*n) {
            Some(whole) => integer_backwards(whole, out),
            None if n.is_finite() => fixed_backwards(0xCC, n.to_be_bytes(), out),
            None => write_backwards(&extended(value), out),
        },
        Value::String(text) => str_backwards(text, out),
        Value::Array(elements) => array_backwards(elements, out),
        Value::Object(object) => object_backwards(object, out),
        Value::Date(_)
        | Value::ObjectId(_)
        | Value::Binary { .. }
        | Value::Decimal128(_)
        | Value::Timestamp(_)
        | Value::Regex { .. }
        | Value::Code(_)
        | Value::CodeWithScope { .. }
        | Value::Symbol(_)
        | Value::DbPointer { .. }
        | Value::MinKey
        | Value::MaxKey => write_backwards(&extended(value), out),
    }
}

/// What JSON text says of a value that JSON has no kind for.
fn extended(value: &Value) -> Value {
    const LIMITS: Limits = Limits {
        depth_max: DEPTH_CEILING,
        duplicates_refused: &[],
    };
    let text = json::to_string(value);
    json::parse(text.as_bytes(), &LIMITS).unwrap_or(Value::Null)
}

fn array_backwards(elements: &[Value], out: &mut Vec<u8>) {
    let end = out.len();
    let mut count = 0;
    for element in elements.iter().rev().filter(|value| !value.is_undefined()) {
        write_backwards(element, out);
        count += 1;
    }
    let length = out.len() - end;
    match count {
        0 => out.push(ARRAY),
        1 => out.push(ARRAY + 1),
        // Clients take an array's size from its count; without one they would have to walk through it.
        _ => {
            let step = width_step(length);
            length_backwards(count, step, out);
            length_backwards(length, step, out);
            out.push(ARRAY + LENGTH_AND_COUNT + step);
        }
    }
}

fn object_backwards(object: &Object, out: &mut Vec<u8>) {
    let end = out.len();
    let mut count = 0;
    for (name, value) in object
        .iter()
        .rev()
        .filter(|(_, value)| !value.is_undefined())
    {
        write_backwards(value, out);
        str_backwards(name, out);
        count += 1;
    }
    let length = out.len() - end;
    match count {
        0 => out.push(OBJECT),
        1 => out.push(OBJECT + 1),
        _ => {
            let step = width_step(length);
            length_backwards(length, step, out);
            out.push(OBJECT + LENGTH + step);
        }
    }
}

fn str_backwards(text: &str, out: &mut Vec<u8>) {
    if let Some(marker) = system_strings::marker(text) {
        out.push(marker);
        return;
    }
    out.extend(text.bytes().rev());
    let length = text.len();
    if length < 0x40 {
        #[expect(clippy::cast_possible_truncation, reason = "it is below 64")]
        out.push(0x80 | length as u8);
    } else {
        let step = width_step(length);
        length_backwards(length, step, out);
        out.push(0xC0 + step);
    }
}

fn integer_backwards(n: i64, out: &mut Vec<u8>) {
    if let Ok(n) = u8::try_from(n) {
        out.push(n);
        if n >= 0x20 {
            out.push(0xC8);
        }
    } else if let Ok(n) = i16::try_from(n) {
        fixed_backwards(0xC9, n.to_be_bytes(), out);
    } else if let Ok(n) = i32::try_from(n) {
        fixed_backwards(0xCA, n.to_be_bytes(), out);
    } else {
        fixed_backwards(0xCB, n.to_be_bytes(), out);
    }
}

/// A marker and a number behind it. Numbers are little-endian, so backwards they are big-endian.
fn fixed_backwards<const N: usize>(marker: u8, bytes: [u8; N], out: &mut Vec<u8>) {
    out.extend_from_slice(&bytes);
    out.push(marker);
}

/// How wide a length must be: 0 for one byte, 1 for two, 2 for four. So far apart are their markers. A count is never more than
/// the length it stands beside, since nothing takes less than a byte.
const fn width_step(length: usize) -> u8 {
    match length {
        0..=0xFF => 0,
        0x100..=0xFFFF => 1,
        _ => 2,
    }
}

fn length_backwards(length: usize, step: u8, out: &mut Vec<u8>) {
    let bytes = wide(length).to_be_bytes();
    let width = 1 << step;
    out.extend_from_slice(&bytes[bytes.len() - width..]);
}
