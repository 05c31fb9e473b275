//! What expressions ask of values: their type's name, their truth, their order.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

pub(crate) use lapsedb_value::bson::type_name;
use lapsedb_value::{Value, order};

/// The truth of a value: false, zero, null and missing are false; everything else is true, also `""` and `[]`.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Undefined | Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Int32(n) => *n != 0,
        Value::Int64(n) => *n != 0,
        Value::Double(n) => *n != 0.0,
        Value::Decimal128(_) => compare(value, &Value::Int32(0)) != Ordering::Equal,
        Value::String(_)
        | Value::Array(_)
        | Value::Object(_)
        | Value::Date(_)
        | Value::ObjectId(_)
        | Value::Binary { .. }
        | Value::Timestamp(_)
        | Value::Regex { .. }
        | Value::Code(_)
        | Value::CodeWithScope { .. }
        | Value::Symbol(_)
        | Value::DbPointer { .. }
        | Value::MinKey
        | Value::MaxKey => true,
    }
}

/// The order of two values in expressions: BSON's, where a missing value is less than everything but MinKey.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Undefined, Value::Undefined) => Ordering::Equal,
        (Value::Undefined, Value::MinKey) => Ordering::Greater,
        (Value::MinKey, Value::Undefined) => Ordering::Less,
        (Value::Undefined, _) => Ordering::Less,
        (_, Value::Undefined) => Ordering::Greater,
        _ => order::compare_bson(a, b),
    }
}

/// Whether two values are the same in that order.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    compare(a, b) == Ordering::Equal
}

/// A value that can be looked up by hash; equal as expressions mean it.
#[derive(Clone, Debug)]
pub(crate) struct Key(pub(crate) Value);

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        equal(&self.0, &other.0)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        order::hash_bson(&self.0, state);
    }
}

/// Different values in the order they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distinct {
    seen: HashSet<Key>,
    values: Vec<Value>,
}

impl Distinct {
    /// Adds a value; whether it is new.
    pub(crate) fn insert(&mut self, value: &Value) -> bool {
        let new = self.seen.insert(Key(value.clone()));
        if new {
            self.values.push(value.clone());
        }
        new
    }

    pub(crate) fn to_vec(&self) -> Vec<Value> {
        self.values.clone()
    }
}
