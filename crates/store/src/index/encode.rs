//! Values as bytes that sort like the values, and the entries that an item has in the index.
//!
//! Bytes of one value never begin those of another, so whatever follows them in a key cannot disturb the order.
//! Long strings, arrays and objects are kept by a hash: an index gives candidates, the item itself decides.
//!
//! | kind | bytes |
//! |---|---|
//! | undefined, null, false, true | `00`, `01`, `02`, `03` |
//! | number below -2^63, and what is not a number | `04 00`, then eight bytes that sort as the doubles do |
//! | number below -2^53, which is an integer | `04 01`, then eight bytes that sort as the integers do |
//! | number below 2^53 | `05`, then eight bytes that sort as the doubles do |
//! | number below 2^63, which is an integer | `06 00`, then eight bytes that sort as the integers do |
//! | any other number | `06 01`, then eight bytes that sort as the doubles do |
//! | string | `08`, UTF-8 with `00` as `01 01` and `01` as `01 02`, then `00` |
//! | long string | `08`, the first bytes likewise, then `FF` and a hash of the whole |
//! | array, object, and what only BSON knows | `0A`, `0C`, `0E` and a hash |

use std::ops::Range;

use lapsedb_value::number::{INTEGER_MAX, TWO_POW_63, to_f64_exact, to_i64_exact};
use lapsedb_value::path::{Path, Segment};
use lapsedb_value::{Object, Value};
use smallvec::SmallVec;

use super::bson_key::{from_sortable, sortable};
use super::policy::{Cursor, IndexPolicy};

/// Bytes of a string that are kept for sorting.
pub const STRING_PREFIX_BYTES_MAX: usize = 256;
/// Most entries of one item. An entry comes from two bytes of JSON at least, so an item within its own limit never
/// reaches it; beyond it entries are left out.
pub const INDEX_TERMS_MAX: usize = 1 << 21;

const UNDEFINED: u8 = 0x00;
const NULL: u8 = 0x01;
const FALSE: u8 = 0x02;
const TRUE: u8 = 0x03;
/// Below -2^53 and from 2^53 on doubles are integers, and other integers lie between them.
const NUMBER_LOW: u8 = 0x04;
const NUMBER: u8 = 0x05;
const NUMBER_HIGH: u8 = 0x06;
const STRING: u8 = 0x08;
const ARRAY: u8 = 0x0A;
const OBJECT: u8 = 0x0C;
const OTHER: u8 = 0x0E;

const STRING_END: u8 = 0x00;
const STRING_ESCAPE: u8 = 0x01;
const STRING_CUT: u8 = 0xFF;
const LIST_END: u8 = 0xFF;

/// Bytes of an encoded value; most need no allocation.
pub type TermBytes = SmallVec<[u8; 32]>;

/// One entry of an item in the index: a value at a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// The path, see [`PathId`].
    pub path: u64,
    /// The value.
    pub bytes: TermBytes,
}

/// A path as a number: FNV-1a, 64 bits, over `FF` and the name of every member and `FE` for every `[]`.
///
/// Neither byte occurs in UTF-8, so no two paths have the same text. It is stored: it must never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathId(pub u64);

impl PathId {
    /// The item itself.
    pub const ROOT: PathId = PathId(FNV_START);
    /// Where the shapes of items are kept; a byte that begins no step keeps it apart from every path.
    pub const SHAPE: PathId = PathId((FNV_START ^ 0xFA).wrapping_mul(FNV_PRIME));

    /// The path of a path's steps.
    pub fn of(path: &Path) -> PathId {
        path.segments()
            .iter()
            .fold(PathId::ROOT, |id, segment| match segment {
                Segment::Member(name) => id.member(name),
                Segment::Elements => id.elements(),
            })
    }

    /// One step further, into a member.
    pub fn member(self, name: &str) -> PathId {
        PathId(fnv(fnv(self.0, &[0xFF]), name.as_bytes()))
    }

    /// One step further, into the elements of an array.
    pub fn elements(self) -> PathId {
        PathId(fnv(self.0, &[0xFE]))
    }

    /// The beginning of a composite index's number, see [`super::composite`]; its byte occurs in no path.
    pub(super) fn composite(self) -> PathId {
        PathId(fnv(self.0, &[0xFD]))
    }

    /// The beginning of one path of a composite index, with its direction.
    pub(super) fn part(self, descending: bool) -> PathId {
        PathId(fnv(self.0, &[if descending { 0xFB } else { 0xFC }]))
    }
}

const FNV_START: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;

fn fnv(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME)
    })
}

/// Spreads every bit over all others, so that hashes can be added up.
pub(super) fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}

/// A value's bytes in the index.
pub fn value_bytes(value: &Value) -> TermBytes {
    match value {
        Value::Array(_) => hashed(ARRAY, shape(value)),
        Value::Object(_) => hashed(OBJECT, shape(value)),
        Value::Undefined => SmallVec::from_slice(&[UNDEFINED]),
        Value::Null => SmallVec::from_slice(&[NULL]),
        Value::Bool(false) => SmallVec::from_slice(&[FALSE]),
        Value::Bool(true) => SmallVec::from_slice(&[TRUE]),
        Value::Int32(n) => hashed(NUMBER, number_bits(f64::from(*n))),
        Value::Int64(n) => integer_bytes(*n),
        Value::Double(n) => double_bytes(*n),
        Value::String(text) => string_bytes(text),
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
        | Value::MaxKey => hashed(OTHER, shape(value)),
    }
}

/// Whether a value's bytes in the index are those of no other value, and sort as it does.
pub fn is_exact(value: &Value) -> bool {
    match value {
        Value::Undefined
        | Value::Null
        | Value::Bool(_)
        | Value::Int32(_)
        | Value::Int64(_)
        | Value::Double(_) => true,
        Value::String(text) => text.len() <= STRING_PREFIX_BYTES_MAX,
        Value::Array(_)
        | Value::Object(_)
        | Value::Date(_)
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
        | Value::MaxKey => false,
    }
}

/// The least bytes that a value not less than this one can have, if the two are of one kind.
pub fn lower_bound(value: &Value) -> TermBytes {
    match value {
        Value::String(text) if text.len() > STRING_PREFIX_BYTES_MAX => {
            let mut bytes = string_prefix(text);
            bytes.push(STRING_CUT);
            bytes
        }
        _ => value_bytes(value),
    }
}

/// Bytes above those of every value not greater than this one, if the two are of one kind.
pub fn upper_bound(value: &Value) -> TermBytes {
    after(lower_bound(value))
}

/// The bytes with which those of every string with this beginning begin; the range ends at [`after`] it.
///
/// Of a long beginning only the part that is kept is looked at.
pub fn string_prefix(prefix: &str) -> TermBytes {
    let mut bytes = SmallVec::from_slice(&[STRING]);
    let kept = prefix.len().min(STRING_PREFIX_BYTES_MAX);
    escape(&prefix.as_bytes()[..kept], |byte| bytes.push(byte));
    bytes
}

/// The least bytes above all that begin with these.
pub fn after(mut bytes: TermBytes) -> TermBytes {
    while let Some(last) = bytes.pop() {
        if last < u8::MAX {
            bytes.push(last + 1);
            return bytes;
        }
    }
    // Only reached without a single byte below FF, which no tag is: above everything.
    SmallVec::from_slice(&[u8::MAX; 2])
}

/// The bounds of all values of one kind as another value: `[from, to)`.
pub fn kind_bounds(value: &Value) -> (TermBytes, TermBytes) {
    let tag = value_bytes(value).first().copied().unwrap_or(UNDEFINED);
    let (from, to) = match tag {
        FALSE | TRUE => (FALSE, TRUE + 1),
        NUMBER_LOW | NUMBER | NUMBER_HIGH => (NUMBER_LOW, NUMBER_HIGH + 1),
        tag => (tag, tag + 1),
    };
    (SmallVec::from_slice(&[from]), SmallVec::from_slice(&[to]))
}

fn hashed(tag: u8, hash: u64) -> TermBytes {
    let mut bytes = SmallVec::from_slice(&[tag]);
    bytes.extend_from_slice(&hash.to_be_bytes());
    bytes
}

fn integer_bytes(number: i64) -> TermBytes {
    if SMALL_INTEGERS.contains(&number) {
        return hashed(NUMBER, number_bits(number as f64));
    }
    let (tag, form) = match number < 0 {
        true => (NUMBER_LOW, 1),
        false => (NUMBER_HIGH, 0),
    };
    far_bytes(tag, form, sortable(number))
}

fn double_bytes(number: f64) -> TermBytes {
    match to_i64_exact(number) {
        Some(whole) => integer_bytes(whole),
        // What is not a number comes first.
        None if number.is_nan() || number < -TWO_POW_63 => {
            far_bytes(NUMBER_LOW, 0, number_bits(number))
        }
        None if number >= TWO_POW_63 => far_bytes(NUMBER_HIGH, 1, number_bits(number)),
        None => hashed(NUMBER, number_bits(number)),
    }
}

/// A number that is far from zero: the tag, whether it lies inside or outside of the integers of 64 bits, and its bits.
fn far_bytes(tag: u8, form: u8, bits: u64) -> TermBytes {
    let mut bytes = SmallVec::from_slice(&[tag, form]);
    bytes.extend_from_slice(&bits.to_be_bytes());
    bytes
}

/// Integers that have their bytes from the double; between those below and above there are integers that no double is.
const SMALL_INTEGERS: Range<i64> = -INTEGER_MAX..INTEGER_MAX;

/// How many bytes follow the tag of a value that has no end of its own; none for strings.
pub(super) const fn len_behind(tag: u8) -> Option<usize> {
    match tag {
        UNDEFINED | NULL | FALSE | TRUE => Some(0),
        NUMBER_LOW | NUMBER_HIGH => Some(9),
        STRING => None,
        // Eight bytes of a number or a hash.
        _ => Some(8),
    }
}

/// The number that bytes in the index were made of; `None` for other bytes, and for what is not a number.
pub(super) fn decode_number(bytes: &[u8]) -> Option<Value> {
    let eight = |bytes: &[u8]| Some(u64::from_be_bytes(bytes.try_into().ok()?));
    match bytes {
        [NUMBER, bits @ ..] | [NUMBER_LOW, 0, bits @ ..] | [NUMBER_HIGH, 1, bits @ ..] => {
            let number = number_of_bits(eight(bits)?);
            (!number.is_nan()).then(|| Value::number(number))
        }
        [NUMBER_LOW, 1, bits @ ..] | [NUMBER_HIGH, 0, bits @ ..] => {
            Some(Value::Int64(from_sortable(eight(bits)?)))
        }
        _ => None,
    }
}

/// Bits that sort as unsigned integers the way the numbers sort; what is not a number comes first.
fn number_bits(number: f64) -> u64 {
    if number.is_nan() {
        return 0;
    }
    // Adding zero makes minus zero plain.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

fn number_of_bits(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 {
        bits & !(1 << 63)
    } else {
        !bits
    })
}

fn string_bytes(text: &str) -> TermBytes {
    let mut bytes = string_prefix(text);
    if text.len() <= STRING_PREFIX_BYTES_MAX {
        bytes.push(STRING_END);
    } else {
        bytes.push(STRING_CUT);
        bytes.extend_from_slice(&mix(fnv(FNV_START, text.as_bytes())).to_be_bytes());
    }
    bytes
}

fn escape(text: &[u8], mut push: impl FnMut(u8)) {
    for byte in text {
        if *byte <= STRING_ESCAPE {
            push(STRING_ESCAPE);
            push(byte + 1);
        } else {
            push(*byte);
        }
    }
}

/// Appends a value wholly: two values have the same bytes only if they are equal. They do not sort as the values do.
///
/// Members are sorted by name, because their order does not tell objects apart. Unique entries are made of these bytes
/// and never made anew: the bytes of a value must not change.
pub fn whole(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => {
            out.push(STRING);
            escape(text.as_bytes(), |byte| out.push(byte));
            out.push(STRING_END);
        }
        Value::Array(elements) => {
            out.push(ARRAY);
            for element in elements {
                whole(element, out);
            }
            out.push(LIST_END);
        }
        Value::Object(object) => {
            out.push(OBJECT);
            whole_members(object, out);
        }
        Value::Undefined | Value::Null | Value::Bool(_) => {
            out.extend_from_slice(&value_bytes(value));
        }
        Value::Int32(n) => out.extend_from_slice(&whole_number(f64::from(*n))),
        Value::Int64(n) => match to_f64_exact(*n) {
            Some(double) => out.extend_from_slice(&whole_number(double)),
            None => out.extend_from_slice(&hashed(NUMBER_HIGH, n.cast_unsigned())),
        },
        Value::Double(n) => out.extend_from_slice(&whole_number(*n)),
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
        | Value::MaxKey => {
            out.push(OTHER);
            whole_other(value, out);
        }
    }
}

/// Every number that is a double has the bytes that it has always had.
fn whole_number(number: f64) -> TermBytes {
    hashed(NUMBER, number_bits(number))
}

fn whole_members(object: &Object, out: &mut Vec<u8>) {
    let mut members: Vec<_> = object
        .iter()
        .filter(|(_, value)| !value.is_undefined())
        .collect();
    members.sort_by(|a, b| a.0.cmp(b.0));
    for (name, value) in members {
        out.push(STRING);
        escape(name.as_bytes(), |byte| out.push(byte));
        out.push(STRING_END);
        whole(value, out);
    }
    out.push(LIST_END);
}

/// What only BSON knows: a letter for the kind, then parts with their lengths before them.
fn whole_other(value: &Value, out: &mut Vec<u8>) {
    let mut part = |kind: u8, bytes: &[u8]| {
        out.push(kind);
        out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        out.extend_from_slice(bytes);
    };
    match value {
        Value::Date(ms) => part(b'd', &ms.to_be_bytes()),
        Value::ObjectId(id) => part(b'o', id),
        Value::Binary { subtype, bytes } => {
            part(b'b', &[*subtype]);
            part(b'B', bytes);
        }
        Value::Decimal128(bytes) => part(b'n', bytes),
        Value::Timestamp(stamp) => part(b't', &stamp.to_be_bytes()),
        Value::Regex { pattern, options } => {
            part(b'r', pattern.as_bytes());
            part(b'R', options.as_bytes());
        }
        Value::Code(code) => part(b'c', code.as_bytes()),
        Value::CodeWithScope { code, scope } => {
            part(b's', code.as_bytes());
            whole_members(scope, out);
        }
        Value::Symbol(text) => part(b'y', text.as_bytes()),
        Value::DbPointer { ns, id } => {
            part(b'p', ns.as_bytes());
            part(b'P', id);
        }
        Value::MinKey => part(b'<', &[]),
        Value::MaxKey => part(b'>', &[]),
        Value::Undefined
        | Value::Null
        | Value::Bool(_)
        | Value::Int32(_)
        | Value::Int64(_)
        | Value::Double(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => part(b'?', &[]),
    }
}

/// A hash of a value, the same for equal values whatever the order of their members.
fn shape(value: &Value) -> u64 {
    match value {
        Value::Array(elements) => elements.iter().fold(ARRAY_START, |hash, element| {
            with_element(hash, shape(element))
        }),
        Value::Object(object) => object
            .iter()
            .filter(|(_, value)| !value.is_undefined())
            .fold(OBJECT_START, |hash, (name, value)| {
                with_member(hash, name, shape(value))
            }),
        scalar => scalar_shape(scalar),
    }
}

const ARRAY_START: u64 = ARRAY as u64;
const OBJECT_START: u64 = OBJECT as u64;

fn with_element(hash: u64, element: u64) -> u64 {
    mix(hash.wrapping_mul(FNV_PRIME) ^ element)
}

fn with_member(hash: u64, name: &str, value: u64) -> u64 {
    // A sum does not care in which order the members come.
    hash.wrapping_add(mix(fnv(FNV_START, name.as_bytes()).rotate_left(32) ^ value))
}

fn scalar_shape(value: &Value) -> u64 {
    if let Value::String(text) = value {
        return mix(fnv(fnv(FNV_START, &[STRING]), text.as_bytes()));
    }
    if let Some(number) = value.as_f64() {
        return mix(fnv(
            fnv(FNV_START, &[NUMBER]),
            &number_bits(number).to_be_bytes(),
        ));
    }
    let mut bytes = Vec::new();
    whole(value, &mut bytes);
    mix(fnv(FNV_START, &bytes))
}

/// The entries of an item in the index, sorted, each once.
///
/// Every value at an indexed path has one, arrays and objects too; so have all elements of arrays, under `[]`.
pub fn terms(policy: &IndexPolicy, item: &Object) -> Vec<Term> {
    terms_with(policy, item, &[])
}

/// The same, with members that are not part of the stored item, such as `_ts`.
pub fn terms_with(policy: &IndexPolicy, item: &Object, system: &[(&str, &Value)]) -> Vec<Term> {
    if !policy.is_complete() {
        return Vec::new();
    }
    let mut walk = Walk {
        terms: Vec::with_capacity(item.len() + system.len()),
    };
    let root = policy.cursor();
    let members = item.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in members.chain(system.iter().copied()) {
        if !value.is_undefined() {
            walk.visit(root.member(name), PathId::ROOT.member(name), value, false);
        }
    }
    walk.terms.sort_unstable();
    walk.terms.dedup();
    walk.terms
}

struct Walk {
    terms: Vec<Term>,
}

impl Walk {
    /// Notes a value and what is in it; answers its hash, if it is wanted, so that no value is hashed twice.
    fn visit(&mut self, cursor: Cursor<'_>, path: PathId, value: &Value, hash_wanted: bool) -> u64 {
        if cursor.barren() {
            return if hash_wanted { shape(value) } else { 0 };
        }
        let indexed = cursor.indexed();
        let hash_below = hash_wanted || indexed;
        match value {
            Value::Array(elements) => {
                let (cursor_below, path_below) = (cursor.elements(), path.elements());
                let hash = elements.iter().fold(ARRAY_START, |hash, element| {
                    with_element(
                        hash,
                        self.visit(cursor_below, path_below, element, hash_below),
                    )
                });
                self.note(indexed, path, || hashed(ARRAY, hash));
                hash
            }
            Value::Object(object) => {
                let hash = object
                    .iter()
                    .filter(|(_, value)| !value.is_undefined())
                    .fold(OBJECT_START, |hash, (name, value)| {
                        let below =
                            self.visit(cursor.member(name), path.member(name), value, hash_below);
                        with_member(hash, name, below)
                    });
                self.note(indexed, path, || hashed(OBJECT, hash));
                hash
            }
            scalar => {
                self.note(indexed, path, || value_bytes(scalar));
                if hash_wanted { scalar_shape(scalar) } else { 0 }
            }
        }
    }

    fn note(&mut self, indexed: bool, path: PathId, bytes: impl FnOnce() -> TermBytes) {
        if indexed && self.terms.len() < INDEX_TERMS_MAX {
            self.terms.push(Term {
                path: path.0,
                bytes: bytes(),
            });
        }
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
