//! Orders and equality of values.

use std::cmp::Ordering;
use std::hash::Hasher;

use crate::number::{compare_f64, compare_i64_f64, to_i64_exact};
use crate::{Object, Str, Value};

mod bson;

pub use bson::{bson_class, compare_bson, compare_numbers, equal_bson, hash_bson, identical_bson};

/// The total order of SQL: undefined, null, booleans, numbers, strings, arrays, objects; then the
/// kinds that only BSON has.
///
/// Numbers compare exactly, whatever their kind, and NaN comes first. Strings compare by code
/// points, which is the order of their UTF-8 and so of index keys. Arrays compare element by
/// element, objects member by member in the order of names. Two values are equal in this order
/// exactly if [`deep_equal`] says so.
pub fn compare_sql(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int32(a), Value::Int32(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => compare_f64(*a, *b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => compare_arrays(a, b),
        (Value::Object(a), Value::Object(b)) => compare_objects(a, b),
        _ => match rank(a).cmp(&rank(b)) {
            Ordering::Equal => compare_within(a, b),
            unequal => unequal,
        },
    }
}

/// Whether two values are the same document: `1` equals `1.0`, the order of members does not
/// matter, and members or elements that are undefined count as absent. NaN equals itself, so that
/// a value is always equal to its copy.
pub fn deep_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        // Different lengths are the cheapest way to see a difference.
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Object(a), Value::Object(b)) => equal_objects(a, b),
        _ => compare_sql(a, b) == Ordering::Equal,
    }
}

/// Feeds the value to a hasher so that equal values, by [`deep_equal`], hash alike.
pub fn hash_into<H: Hasher + ?Sized>(value: &Value, state: &mut H) {
    state.write_u8(rank(value));
    match value {
        Value::Undefined | Value::Null | Value::MinKey | Value::MaxKey => {}
        Value::Bool(truth) => state.write_u8(u8::from(*truth)),
        Value::Int32(n) => state.write_i64(i64::from(*n)),
        Value::Int64(n) | Value::Date(n) => state.write_i64(*n),
        Value::Double(n) => match to_i64_exact(*n) {
            Some(whole) => state.write_i64(whole),
            None if n.is_nan() => state.write_u64(f64::NAN.to_bits()),
            None => state.write_u64(n.to_bits()),
        },
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => hash_text(text, state),
        Value::Array(elements) => {
            let present = elements.iter().filter(|element| !element.is_undefined());
            state.write_usize(present.clone().count());
            present.for_each(|element| hash_into(element, state));
        }
        Value::Object(object) => hash_object(object, state),
        Value::ObjectId(id) => state.write(id),
        Value::Binary { subtype, bytes } => {
            state.write_u8(*subtype);
            hash_bytes(bytes, state);
        }
        Value::Decimal128(bytes) => state.write(bytes),
        Value::Timestamp(stamp) => state.write_u64(*stamp),
        Value::Regex { pattern, options } => {
            hash_text(pattern, state);
            hash_text(options, state);
        }
        Value::CodeWithScope { code, scope } => {
            hash_text(code, state);
            hash_object(scope, state);
        }
        Value::DbPointer { ns, id } => {
            hash_text(ns, state);
            state.write(id);
        }
    }
}

/// The place of a value's type among the types.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Undefined => 0,
        Value::Null => 1,
        Value::Bool(_) => 2,
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) => 5,
        Value::Object(_) => 6,
        Value::MinKey => 7,
        Value::Decimal128(_) => 8,
        Value::Symbol(_) => 9,
        Value::Binary { .. } => 10,
        Value::ObjectId(_) => 11,
        Value::Date(_) => 12,
        Value::Timestamp(_) => 13,
        Value::Regex { .. } => 14,
        Value::DbPointer { .. } => 15,
        Value::Code(_) => 16,
        Value::CodeWithScope { .. } => 17,
        Value::MaxKey => 18,
    }
}

/// Compares two values of the same rank. The last arm is for pairs of unlike types, which the
/// ranks have told apart before.
fn compare_within(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int32(a), b) => compare_integer(i64::from(*a), b),
        (Value::Int64(a), b) => compare_integer(*a, b),
        (Value::Double(_), Value::Int32(_) | Value::Int64(_)) => compare_within(b, a).reverse(),
        (Value::Decimal128(a), Value::Decimal128(b)) => a.iter().rev().cmp(b.iter().rev()),
        (Value::Symbol(a), Value::Symbol(b)) | (Value::Code(a), Value::Code(b)) => a.cmp(b),
        (
            Value::Binary {
                subtype: sa,
                bytes: a,
            },
            Value::Binary {
                subtype: sb,
                bytes: b,
            },
        ) => (a.len(), sa, a).cmp(&(b.len(), sb, b)),
        (Value::ObjectId(a), Value::ObjectId(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        (
            Value::Regex {
                pattern: pa,
                options: oa,
            },
            Value::Regex {
                pattern: pb,
                options: ob,
            },
        ) => (pa, oa).cmp(&(pb, ob)),
        (Value::DbPointer { ns: na, id: ia }, Value::DbPointer { ns: nb, id: ib }) => {
            (na, ia).cmp(&(nb, ib))
        }
        (
            Value::CodeWithScope {
                code: ca,
                scope: sa,
            },
            Value::CodeWithScope {
                code: cb,
                scope: sb,
            },
        ) => ca.cmp(cb).then_with(|| compare_objects(sa, sb)),
        _ => Ordering::Equal,
    }
}

fn compare_integer(a: i64, b: &Value) -> Ordering {
    match b {
        Value::Double(b) => compare_i64_f64(a, *b),
        // Only numbers have the rank of a number.
        _ => a.cmp(&b.as_i64().unwrap_or_default()),
    }
}

fn compare_arrays(a: &[Value], b: &[Value]) -> Ordering {
    let mut a = a.iter().filter(|element| !element.is_undefined());
    let mut b = b.iter().filter(|element| !element.is_undefined());
    loop {
        match (a.next(), b.next()) {
            (Some(a), Some(b)) => match compare_sql(a, b) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
            (a, b) => return a.is_some().cmp(&b.is_some()),
        }
    }
}

fn compare_objects(a: &Object, b: &Object) -> Ordering {
    let (a, b) = (by_name(a), by_name(b));
    for ((name_a, value_a), (name_b, value_b)) in a.iter().zip(&b) {
        let order = name_a
            .cmp(name_b)
            .then_with(|| compare_sql(value_a, value_b));
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

fn equal_objects(a: &Object, b: &Object) -> bool {
    // Documents of one kind mostly have their members in the same order.
    let alike = a.len() == b.len() && a.keys().eq(b.keys());
    match alike {
        true => a.values().zip(b.values()).all(|(a, b)| deep_equal(a, b)),
        false => compare_objects(a, b) == Ordering::Equal,
    }
}

/// The members that are there, in the order of their names.
fn by_name(object: &Object) -> Vec<(&Str, &Value)> {
    let mut members: Vec<_> = object
        .iter()
        .filter(|(_, value)| !value.is_undefined())
        .collect();
    members.sort_by_key(|(name, _)| *name);
    members
}

fn hash_object<H: Hasher + ?Sized>(object: &Object, state: &mut H) {
    let members = by_name(object);
    state.write_usize(members.len());
    for (name, value) in members {
        hash_text(name, state);
        hash_into(value, state);
    }
}

fn hash_text<H: Hasher + ?Sized>(text: &str, state: &mut H) {
    hash_bytes(text.as_bytes(), state);
}

/// The length goes first, so that neighbours cannot run into each other.
fn hash_bytes<H: Hasher + ?Sized>(bytes: &[u8], state: &mut H) {
    state.write_usize(bytes.len());
    state.write(bytes);
}
