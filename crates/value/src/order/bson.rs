//! The order and the equality of MongoDB.

use std::cmp::Ordering;
use std::hash::Hasher;

use super::{hash_bytes, hash_text};
use crate::decimal128::Decimal128;
use crate::number::{compare_f64, compare_i64_f64, to_i64_exact};
use crate::{Object, Value};

/// The total order of BSON values, as MongoDB sorts them and keeps them in indexes.
///
/// The absence of a value equals null. Numbers compare by their exact value whatever their kind, NaN comes first and equals
/// itself, and `-0` equals `0`. Text compares by bytes, and a symbol is text. Objects compare member by member in the order
/// they are in: first the types, then the names, then the values.
pub fn compare_bson(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int32(a), Value::Int32(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Array(a), Value::Array(b)) => compare_arrays(a, b),
        (Value::Object(a), Value::Object(b)) => compare_objects(a, b),
        _ => match bson_class(a).cmp(&bson_class(b)) {
            Ordering::Equal => compare_within(a, b),
            unequal => unequal,
        },
    }
}

/// Whether two values are equal in the order of [`compare_bson`]: the members of objects must come in the same order.
pub fn equal_bson(a: &Value, b: &Value) -> bool {
    match (a, b) {
        // Different lengths are the cheapest way to see a difference.
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Object(a), Value::Object(b)) if a.len() != b.len() => false,
        (Value::Array(a), Value::Array(b)) if a.len() != b.len() => false,
        _ => compare_bson(a, b) == Ordering::Equal,
    }
}

/// Whether two values are the same to the last bit: kinds of number, signs of zero and digits of decimals count.
pub fn identical_bson(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
        (Value::Decimal128(a), Value::Decimal128(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| identical_bson(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|((name_a, a), (name_b, b))| name_a == name_b && identical_bson(a, b))
        }
        _ => std::mem::discriminant(a) == std::mem::discriminant(b) && equal_bson(a, b),
    }
}

/// The place of a value's type among the types of BSON; kinds of number share one, and so do text and symbols.
pub fn bson_class(value: &Value) -> u8 {
    match value {
        Value::MinKey => 0,
        Value::Undefined | Value::Null => 5,
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => 10,
        Value::String(_) | Value::Symbol(_) => 15,
        Value::Object(_) => 20,
        Value::Array(_) => 25,
        Value::Binary { .. } => 30,
        Value::ObjectId(_) => 35,
        Value::Bool(_) => 40,
        Value::Date(_) => 45,
        Value::Timestamp(_) => 47,
        Value::Regex { .. } => 50,
        Value::DbPointer { .. } => 55,
        Value::Code(_) => 60,
        Value::CodeWithScope { .. } => 65,
        Value::MaxKey => 127,
    }
}

/// Feeds the value to a hasher so that equal values, by [`equal_bson`], hash alike.
pub fn hash_bson<H: Hasher + ?Sized>(value: &Value, state: &mut H) {
    state.write_u8(bson_class(value));
    match value {
        Value::Undefined | Value::Null | Value::MinKey | Value::MaxKey => {}
        Value::Bool(truth) => state.write_u8(u8::from(*truth)),
        Value::Int32(n) => state.write_i64(i64::from(*n)),
        Value::Int64(n) | Value::Date(n) => state.write_i64(*n),
        Value::Double(n) => hash_f64(*n, state),
        Value::Decimal128(bytes) => {
            let decimal = Decimal128::from_bytes(bytes);
            match decimal.to_i64_exact() {
                Some(whole) => state.write_i64(whole),
                // A decimal that equals a double is that double's value.
                None => hash_f64(decimal.to_f64(), state),
            }
        }
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => hash_text(text, state),
        Value::Array(elements) => {
            state.write_usize(elements.len());
            elements
                .iter()
                .for_each(|element| hash_bson(element, state));
        }
        Value::Object(object) => hash_object(object, state),
        Value::ObjectId(id) => state.write(id),
        Value::Binary { subtype, bytes } => {
            state.write_u8(*subtype);
            hash_bytes(bytes, state);
        }
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

fn hash_f64<H: Hasher + ?Sized>(n: f64, state: &mut H) {
    match to_i64_exact(n) {
        Some(whole) => state.write_i64(whole),
        None if n.is_nan() => state.write_u64(f64::NAN.to_bits()),
        None => state.write_u64(n.to_bits()),
    }
}

fn hash_object<H: Hasher + ?Sized>(object: &Object, state: &mut H) {
    state.write_usize(object.len());
    for (name, value) in object {
        hash_text(name, state);
        hash_bson(value, state);
    }
}

/// Compares two values of the same class.
fn compare_within(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::ObjectId(a), Value::ObjectId(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
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
            (na.len(), na, ia).cmp(&(nb.len(), nb, ib))
        }
        (Value::Code(a), Value::Code(b)) => a.cmp(b),
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
        (Value::String(a) | Value::Symbol(a), Value::String(b) | Value::Symbol(b)) => {
            a.as_bytes().cmp(b.as_bytes())
        }
        _ => compare_numbers(a, b).unwrap_or(Ordering::Equal),
    }
}

/// The exact order of two numbers of any kinds; nothing if one is no number.
pub fn compare_numbers(a: &Value, b: &Value) -> Option<Ordering> {
    Some(match (a, b) {
        (Value::Double(a), Value::Double(b)) => compare_f64(*a, *b),
        (Value::Decimal128(a), b) => compare_decimal(Decimal128::from_bytes(a), b)?,
        (a, Value::Decimal128(b)) => compare_decimal(Decimal128::from_bytes(b), a)?.reverse(),
        (Value::Double(a), b) => compare_i64_f64(integer(b)?, *a).reverse(),
        (a, Value::Double(b)) => compare_i64_f64(integer(a)?, *b),
        (a, b) => integer(a)?.cmp(&integer(b)?),
    })
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int32(n) => Some(i64::from(*n)),
        Value::Int64(n) => Some(*n),
        _ => None,
    }
}

fn compare_decimal(a: Decimal128, b: &Value) -> Option<Ordering> {
    Some(match b {
        Value::Decimal128(b) => a.compare(Decimal128::from_bytes(b)),
        Value::Double(b) => a.compare_f64(*b),
        b => a.compare(Decimal128::from(integer(b)?)),
    })
}

fn compare_arrays(a: &[Value], b: &[Value]) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        match compare_bson(a, b) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    a.len().cmp(&b.len())
}

fn compare_objects(a: &Object, b: &Object) -> Ordering {
    for ((name_a, a), (name_b, b)) in a.iter().zip(b.iter()) {
        let order = bson_class(a)
            .cmp(&bson_class(b))
            .then_with(|| name_a.as_bytes().cmp(name_b.as_bytes()))
            .then_with(|| compare_bson(a, b));
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}
