//! A tree to BSON bytes.

use super::{NUL_IN_NAME, SUBTYPE_OLD_BINARY, kind};
use crate::number::write_u64;
use crate::{Object, Value};

/// Appends the object as a BSON document.
///
/// [`Value::Undefined`] is left out, as a member and as an element. The caller bounds the size and
/// the depth: documents beyond [`super::DEPTH_MAX`] levels are written but refused when read.
pub fn write_document(object: &Object, out: &mut Vec<u8>) {
    let begin = open(out);
    for (name, value) in object {
        element(name.as_bytes(), value, out);
    }
    close(begin, out);
}

/// Bytes that the object has as a BSON document at most: cheaper to know than how many they are.
pub fn bytes_at_most(object: &Object) -> usize {
    let members = object.iter().map(|(name, value)| {
        // A NUL in a name takes a byte more.
        2 + 2 * name.len() + payload_at_most(value)
    });
    5 + members.sum::<usize>()
}

/// Digits of an element's name at most, and what every value has.
const ELEMENT_BYTES_MAX: usize = 22;

fn payload_at_most(value: &Value) -> usize {
    match value {
        Value::Undefined | Value::Null | Value::MinKey | Value::MaxKey => 0,
        Value::Bool(_) => 1,
        Value::Int32(_) => 4,
        Value::Int64(_) | Value::Date(_) | Value::Double(_) | Value::Timestamp(_) => 8,
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => 5 + text.len(),
        Value::Array(elements) => {
            let each = |element| ELEMENT_BYTES_MAX + payload_at_most(element);
            5 + elements.iter().map(each).sum::<usize>()
        }
        Value::Object(object) => bytes_at_most(object),
        Value::ObjectId(_) => 12,
        Value::Binary { bytes, .. } => 9 + bytes.len(),
        Value::Decimal128(_) => 16,
        Value::Regex { pattern, options } => 2 + 2 * (pattern.len() + options.len()),
        Value::CodeWithScope { code, scope } => 9 + code.len() + bytes_at_most(scope),
        Value::DbPointer { ns, .. } => 17 + ns.len(),
    }
}

fn write_array(elements: &[Value], out: &mut Vec<u8>) {
    let begin = open(out);
    let present = elements.iter().filter(|value| !value.is_undefined());
    for (index, value) in (0..).zip(present) {
        out.push(kind_of(value));
        write_u64(index, out);
        out.push(0);
        payload(value, out);
    }
    close(begin, out);
}

/// Leaves room for a length that is known only later.
fn open(out: &mut Vec<u8>) -> usize {
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    begin
}

/// Ends a document and fills in its length.
fn close(begin: usize, out: &mut Vec<u8>) {
    out.push(0);
    fill_length(begin, out);
}

fn fill_length(begin: usize, out: &mut [u8]) {
    let length = length_bytes(out.len() - begin);
    out[begin..begin + 4].copy_from_slice(&length);
}

/// BSON counts in 32 bits. Limits keep documents far below that; a larger one is given a length
/// that every reader refuses.
fn length_bytes(length: usize) -> [u8; 4] {
    i32::try_from(length).unwrap_or(-1).to_le_bytes()
}

#[inline]
fn element(name: &[u8], value: &Value, out: &mut Vec<u8>) {
    if value.is_undefined() {
        return;
    }
    out.push(kind_of(value));
    c_text(name, out);
    payload(value, out);
}

/// Text that ends at a NUL, see the module's header for one inside it.
fn c_text(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(0, rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&NUL_IN_NAME);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(0);
}

fn string(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&length_bytes(text.len() + 1));
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn binary(subtype: u8, bytes: &[u8], out: &mut Vec<u8>) {
    let inner = if subtype == SUBTYPE_OLD_BINARY { 4 } else { 0 };
    out.extend_from_slice(&length_bytes(bytes.len() + inner));
    out.push(subtype);
    if subtype == SUBTYPE_OLD_BINARY {
        out.extend_from_slice(&length_bytes(bytes.len()));
    }
    out.extend_from_slice(bytes);
}

pub(super) fn kind_of(value: &Value) -> u8 {
    match value {
        Value::Undefined => kind::UNDEFINED,
        Value::Null => kind::NULL,
        Value::Bool(_) => kind::BOOL,
        Value::Int32(_) => kind::INT32,
        Value::Int64(_) => kind::INT64,
        Value::Double(_) => kind::DOUBLE,
        Value::String(_) => kind::STRING,
        Value::Array(_) => kind::ARRAY,
        Value::Object(_) => kind::DOCUMENT,
        Value::Date(_) => kind::DATE,
        Value::ObjectId(_) => kind::OBJECT_ID,
        Value::Binary { .. } => kind::BINARY,
        Value::Decimal128(_) => kind::DECIMAL128,
        Value::Timestamp(_) => kind::TIMESTAMP,
        Value::Regex { .. } => kind::REGEX,
        Value::Code(_) => kind::CODE,
        Value::CodeWithScope { .. } => kind::CODE_WITH_SCOPE,
        Value::Symbol(_) => kind::SYMBOL,
        Value::DbPointer { .. } => kind::DB_POINTER,
        Value::MinKey => kind::MIN_KEY,
        Value::MaxKey => kind::MAX_KEY,
    }
}

/// What follows the name.
fn payload(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Undefined | Value::Null | Value::MinKey | Value::MaxKey => {}
        Value::Bool(truth) => out.push(u8::from(*truth)),
        Value::Int32(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Int64(n) | Value::Date(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Double(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => string(text, out),
        Value::Array(elements) => write_array(elements, out),
        Value::Object(object) => write_document(object, out),
        Value::ObjectId(id) => out.extend_from_slice(id),
        Value::Binary { subtype, bytes } => binary(*subtype, bytes, out),
        Value::Decimal128(bytes) => out.extend_from_slice(bytes),
        Value::Timestamp(stamp) => out.extend_from_slice(&stamp.to_le_bytes()),
        Value::Regex { pattern, options } => {
            c_text(pattern.as_bytes(), out);
            c_text(options.as_bytes(), out);
        }
        Value::CodeWithScope { code, scope } => {
            let begin = open(out);
            string(code, out);
            write_document(scope, out);
            fill_length(begin, out);
        }
        Value::DbPointer { ns, id } => {
            string(ns, out);
            out.extend_from_slice(id);
        }
    }
}
