//! Values as bytes that sort as BSON does: the parts of a named index's keys.
//!
//! Bytes of one value never begin those of another, so parts can follow each other, and a descending part is simply inverted.
//! Two values have the same bytes exactly if [`lapsedb_value::order::compare_bson`] calls them equal, whatever kinds of
//! number they are. A part that is too long is cut and ends with a hash: an index gives candidates, the document decides.
//!
//! | kind | bytes behind the tag |
//! |---|---|
//! | number | the greatest double not above it, eight bytes that sort; `00` if it is that double, else `01` and its decimal digits |
//! | text, names, patterns | UTF-8 with `00` as `01 01` and `01` as `01 02`, then `00` |
//! | object | for each member the tag of its value, its name, its value; then `00` |
//! | array | for each element its value; then `00` |
//! | binary | length 4, subtype 1, bytes |
//! | date, time stamp, object id, boolean | as they are, a date with its sign turned |

use std::cmp::Ordering;

use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::number::compare_i64_f64;
use lapsedb_value::{Object, Value};

/// Bytes of a part that are kept for sorting.
pub const PART_BYTES_MAX: usize = 1024;
/// Bytes of the hash behind a part that was cut.
const CUT_HASH_BYTES: usize = 16;

const MIN_KEY: u8 = 0x02;
const EMPTY: u8 = 0x05;
const NULL: u8 = 0x06;
const NUMBER: u8 = 0x0A;
const STRING: u8 = 0x0F;
const OBJECT: u8 = 0x14;
const ARRAY: u8 = 0x19;
const BINARY: u8 = 0x1E;
const OBJECT_ID: u8 = 0x23;
const BOOL: u8 = 0x28;
const DATE: u8 = 0x2D;
const TIMESTAMP: u8 = 0x2F;
const REGEX: u8 = 0x32;
const DB_POINTER: u8 = 0x37;
const CODE: u8 = 0x3C;
const CODE_WITH_SCOPE: u8 = 0x41;
const MAX_KEY: u8 = 0x7F;

/// Below every tag.
const END: u8 = 0x00;
const ESCAPE: u8 = 0x01;
const EXACT: u8 = 0x00;
const BETWEEN: u8 = 0x01;

/// One field of a document as an index sees it.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// There is no such field; it sorts as null.
    Missing,
    /// An array without elements: below null.
    Empty,
    /// A value. An array here is one that is an element of another.
    Value(&'a Value),
}

/// Appends a name or a path, in the order of its bytes.
pub fn push_name(name: &str, out: &mut Vec<u8>) {
    push_text(name, out);
}

/// Appends a part as it stands in the key of an index entry.
pub fn push_part(part: Part<'_>, descending: bool, out: &mut Vec<u8>) {
    let start = out.len();
    push_whole(part, out);
    if out.len() - start > PART_BYTES_MAX {
        let hash = murmur3::murmur3_x64_128(&mut &out[start..], 0).unwrap_or_default();
        out.truncate(start + PART_BYTES_MAX);
        out.extend_from_slice(&hash.to_be_bytes());
    }
    if descending {
        invert(&mut out[start..]);
    }
}

/// Appends a part without cutting it: equal bytes mean equal values.
pub fn push_whole(part: Part<'_>, out: &mut Vec<u8>) {
    match part {
        Part::Missing => out.push(NULL),
        Part::Empty => out.push(EMPTY),
        Part::Value(value) => push_value(value, out),
    }
}

/// The bytes with which a part begins in the key of every entry that has this value: the bounds of a scan are made of these.
#[must_use]
pub fn prefix(part: Part<'_>, descending: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_whole(part, &mut bytes);
    bytes.truncate(PART_BYTES_MAX);
    if descending {
        invert(&mut bytes);
    }
    bytes
}

/// The byte with which a part begins in the key of every entry whose value is of a class of
/// [`lapsedb_value::order::bson_class`]. What is missing is null.
#[must_use]
pub const fn class_prefix(class: u8, descending: bool) -> u8 {
    // The tags are the classes, but for null, which leaves room for empty arrays below it, and the first.
    let tag = match class {
        0 => MIN_KEY,
        5 => NULL,
        class => class,
    };
    if descending { !tag } else { tag }
}

/// Whether a part of this value is kept whole, so that entries with equal bytes have equal values.
#[must_use]
pub fn is_kept_whole(part: Part<'_>) -> bool {
    let mut bytes = Vec::new();
    push_whole(part, &mut bytes);
    bytes.len() <= PART_BYTES_MAX
}

/// Whether one of the parts of an entry's key may have been cut. If not, such entries are in exactly the order of their
/// values.
#[must_use]
pub const fn may_hold_cut(parts: &[u8]) -> bool {
    parts.len() >= PART_BYTES_MAX + CUT_HASH_BYTES
}

fn invert(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

fn tag(value: &Value) -> u8 {
    match value {
        Value::MinKey => MIN_KEY,
        Value::Undefined | Value::Null => NULL,
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => NUMBER,
        Value::String(_) | Value::Symbol(_) => STRING,
        Value::Object(_) => OBJECT,
        Value::Array(_) => ARRAY,
        Value::Binary { .. } => BINARY,
        Value::ObjectId(_) => OBJECT_ID,
        Value::Bool(_) => BOOL,
        Value::Date(_) => DATE,
        Value::Timestamp(_) => TIMESTAMP,
        Value::Regex { .. } => REGEX,
        Value::DbPointer { .. } => DB_POINTER,
        Value::Code(_) => CODE,
        Value::CodeWithScope { .. } => CODE_WITH_SCOPE,
        Value::MaxKey => MAX_KEY,
    }
}

fn push_value(value: &Value, out: &mut Vec<u8>) {
    out.push(tag(value));
    match value {
        Value::MinKey | Value::Undefined | Value::Null | Value::MaxKey => {}
        Value::Int32(n) => push_double(f64::from(*n), out),
        Value::Int64(n) => push_integer(*n, out),
        Value::Double(n) => push_double(*n, out),
        Value::Decimal128(bytes) => push_decimal(Decimal128::from_bytes(bytes), out),
        Value::String(text) | Value::Symbol(text) | Value::Code(text) => push_text(text, out),
        Value::Object(object) => push_object(object, out),
        Value::Array(elements) => {
            for element in elements {
                push_value(element, out);
            }
            out.push(END);
        }
        Value::Binary { subtype, bytes } => {
            push_length(bytes.len(), out);
            out.push(*subtype);
            out.extend_from_slice(bytes);
        }
        Value::ObjectId(id) => out.extend_from_slice(id),
        Value::Bool(truth) => out.push(u8::from(*truth)),
        Value::Date(ms) => out.extend_from_slice(&sortable(*ms).to_be_bytes()),
        Value::Timestamp(stamp) => out.extend_from_slice(&stamp.to_be_bytes()),
        Value::Regex { pattern, options } => {
            push_text(pattern, out);
            push_text(options, out);
        }
        Value::DbPointer { ns, id } => {
            push_length(ns.len(), out);
            out.extend_from_slice(ns.as_bytes());
            out.extend_from_slice(id);
        }
        Value::CodeWithScope { code, scope } => {
            push_text(code, out);
            push_object(scope, out);
        }
    }
}

/// A signed number as one whose bytes sort.
#[must_use]
pub fn sortable(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

/// The number that [`sortable`] has made sort.
#[must_use]
pub fn from_sortable(bits: u64) -> i64 {
    (bits ^ (1 << 63)).cast_signed()
}

/// No value is longer than a document, which is far below 4 GiB.
fn push_length(length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

fn push_object(object: &Object, out: &mut Vec<u8>) {
    for (name, value) in object {
        out.push(tag(value));
        push_text(name, out);
        push_value(value, out);
    }
    out.push(END);
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    for byte in text.as_bytes() {
        if *byte <= ESCAPE {
            out.extend_from_slice(&[ESCAPE, byte + 1]);
        } else {
            out.push(*byte);
        }
    }
    out.push(END);
}

fn push_double(number: f64, out: &mut Vec<u8>) {
    push_floor(number, out);
    out.push(EXACT);
}

fn push_floor(number: f64, out: &mut Vec<u8>) {
    let bits = if number.is_nan() {
        0
    } else {
        // Adding zero makes minus zero plain.
        let bits = (number + 0.0).to_bits();
        if bits >> 63 == 1 {
            !bits
        } else {
            bits | 1 << 63
        }
    };
    out.extend_from_slice(&bits.to_be_bytes());
}

fn push_integer(number: i64, out: &mut Vec<u8>) {
    #[expect(
        clippy::cast_precision_loss,
        reason = "what is lost is compared on the next line"
    )]
    let near = number as f64;
    match compare_i64_f64(number, near) {
        Ordering::Equal => push_double(near, out),
        order => {
            push_floor(floor_of(near, order), out);
            push_digits(number < 0, u128::from(number.unsigned_abs()), 0, out);
        }
    }
}

fn push_decimal(number: Decimal128, out: &mut Vec<u8>) {
    let near = number.to_f64();
    match (number, number.compare_f64(near)) {
        (Decimal128::NaN, _) => push_double(f64::NAN, out),
        (Decimal128::Infinity { .. }, _) | (_, Ordering::Equal) => push_double(near, out),
        (
            Decimal128::Finite {
                negative,
                coefficient,
                exponent,
            },
            order,
        ) => {
            push_floor(floor_of(near, order), out);
            push_digits(negative, coefficient, exponent, out);
        }
    }
}

/// The greatest double not above a number, of which the nearest double is known.
fn floor_of(near: f64, number_to_near: Ordering) -> f64 {
    match number_to_near {
        Ordering::Less => near.next_down(),
        Ordering::Equal | Ordering::Greater => near,
    }
}

/// A number between two doubles: by the place of its first digit, then digit by digit. All in between have one sign.
fn push_digits(negative: bool, coefficient: u128, exponent: i32, out: &mut Vec<u8>) {
    /// Makes every place of a first digit positive.
    const PLACE_BIAS: i32 = 0x4000;
    out.push(BETWEEN);
    let start = out.len();
    let mut digits = coefficient.to_string().into_bytes();
    // At most 34 digits.
    let place = exponent + i32::try_from(digits.len()).unwrap_or(0) + PLACE_BIAS;
    out.extend_from_slice(&u16::try_from(place).unwrap_or(0).to_be_bytes());
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    out.extend_from_slice(&digits);
    out.push(END);
    if negative {
        invert(&mut out[start..]);
    }
}
