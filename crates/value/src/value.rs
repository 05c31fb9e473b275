//! The one tree that every document, parameter and query result is made of.

use std::collections::HashSet;
use std::fmt;

/// Text that is kept inline when it is short, as most names and ids are.
pub type Str = compact_str::CompactString;

/// What a missing member looks like when it is asked for by reference.
static UNDEFINED: Value = Value::Undefined;

/// A document, or any part of one.
///
/// Equality is deliberately not derived: `1` and `1.0` are the same number and the order of
/// members does not matter, which is what [`crate::order::deep_equal`] knows.
/// The rare kinds are boxed so that the common ones stay within 32 bytes.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// The absence of a value; it is never stored.
    #[default]
    Undefined,
    /// JSON `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integral number of 32 bits.
    Int32(i32),
    /// An integral number of 64 bits.
    Int64(i64),
    /// Any other number.
    Double(f64),
    /// Text.
    String(Str),
    /// An ordered list.
    Array(Vec<Value>),
    /// Named members in the order they came.
    Object(Object),
    /// BSON date: milliseconds since 1970.
    Date(i64),
    /// BSON object id.
    ObjectId([u8; 12]),
    /// BSON binary data.
    Binary {
        /// What the bytes mean, as BSON numbers it.
        subtype: u8,
        /// The bytes themselves.
        bytes: Vec<u8>,
    },
    /// BSON decimal number: IEEE 754-2008 decimal128, little-endian.
    Decimal128([u8; 16]),
    /// BSON internal time stamp: seconds in the high half, ordinal in the low half.
    Timestamp(u64),
    /// BSON regular expression.
    Regex {
        /// The expression.
        pattern: Box<Str>,
        /// Its flags, in alphabetical order.
        options: Box<Str>,
    },
    /// BSON JavaScript text.
    Code(Str),
    /// BSON JavaScript text with the variables it sees.
    CodeWithScope {
        /// The text.
        code: Box<Str>,
        /// The variables.
        scope: Box<Object>,
    },
    /// BSON symbol, which is deprecated text.
    Symbol(Str),
    /// BSON pointer into another collection, deprecated.
    DbPointer {
        /// The collection's full name.
        ns: Box<Str>,
        /// The document's id there.
        id: [u8; 12],
    },
    /// Sorts before everything.
    MinKey,
    /// Sorts after everything.
    MaxKey,
}

impl Value {
    /// Whether this is the absence of a value.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }

    /// Whether this is JSON `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether this is one of the three kinds of number that JSON can say.
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Int32(_) | Value::Int64(_) | Value::Double(_))
    }

    /// The number as a double; integers beyond 2^53 are rounded.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int32(n) => Some(f64::from(*n)),
            Value::Int64(n) => Some(*n as f64),
            Value::Double(n) => Some(*n),
            _ => None,
        }
    }

    /// The number, if it has no fraction and fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int32(n) => Some(i64::from(*n)),
            Value::Int64(n) => Some(*n),
            Value::Double(n) => crate::number::to_i64_exact(*n),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// The truth value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(truth) = self {
            Some(*truth)
        } else {
            None
        }
    }

    /// The elements of an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Value::Array(elements) = self {
            Some(elements)
        } else {
            None
        }
    }

    /// The elements of an array, to be changed.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        if let Value::Array(elements) = self {
            Some(elements)
        } else {
            None
        }
    }

    /// The members of an object.
    pub fn as_object(&self) -> Option<&Object> {
        if let Value::Object(object) = self {
            Some(object)
        } else {
            None
        }
    }

    /// The members of an object, to be changed.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Value::Object(object) = self {
            Some(object)
        } else {
            None
        }
    }

    /// The members of an object, taken out of it.
    pub fn into_object(self) -> Option<Object> {
        if let Value::Object(object) = self {
            Some(object)
        } else {
            None
        }
    }

    /// The member of that name; [`Value::Undefined`] if there is none or this is no object.
    pub fn get(&self, name: &str) -> &Value {
        let member = self.as_object().and_then(|object| object.get(name));
        member.unwrap_or(&UNDEFINED)
    }

    /// A reference to the absence of a value.
    pub fn undefined() -> &'static Value {
        &UNDEFINED
    }

    /// The number in its one canonical form: the smallest integer kind that holds it exactly, else
    /// a double. Negative zero becomes zero.
    pub fn number(n: f64) -> Value {
        crate::number::canonical(n)
    }
}

impl fmt::Display for Value {
    /// The value as compact JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::json::to_string(self))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(Str::new(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(Str::from(text))
    }
}

impl From<Str> for Value {
    fn from(text: Str) -> Value {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<i32> for Value {
    fn from(n: i32) -> Value {
        Value::Int32(n)
    }
}

impl From<i64> for Value {
    /// The smallest kind that holds it, exactly.
    #[inline]
    fn from(n: i64) -> Value {
        match i32::try_from(n) {
            Ok(small) => Value::Int32(small),
            Err(_) => Value::Int64(n),
        }
    }
}

impl From<f64> for Value {
    fn from(n: f64) -> Value {
        Value::number(n)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Value {
        Value::Array(elements)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Value {
        Value::Object(object)
    }
}

/// Up to so many members are compared with each other rather than put into a table.
const FEW_MEMBERS: usize = 16;

/// Named members that keep the order they came in.
#[derive(Clone, Debug, Default)]
pub struct Object(Vec<(Str, Value)>);

impl Object {
    /// An object without members.
    pub const fn new() -> Object {
        Object(Vec::new())
    }

    /// An object without members and room for some.
    pub fn with_capacity(members: usize) -> Object {
        Object(Vec::with_capacity(members))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The member of that name, the first one if BSON brought several.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// The member of that name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.0
            .iter_mut()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// Whether there is a member of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// The first name that is there a second time.
    pub fn duplicate(&self) -> Option<&Str> {
        let names = || self.0.iter().map(|(name, _)| name);
        if self.0.len() <= FEW_MEMBERS {
            let seen_before =
                |(at, name): &(usize, &Str)| names().take(*at).any(|other| other == *name);
            return names().enumerate().find(seen_before).map(|(_, name)| name);
        }
        let mut seen = HashSet::with_capacity(self.0.len());
        names().find(|name| !seen.insert(name.as_str()))
    }

    /// Replaces the member in its place, or appends it. Returns what was there before.
    pub fn insert(&mut self, key: impl Into<Str>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.get_mut(&key) {
            Some(old) => Some(std::mem::replace(old, value)),
            None => {
                self.0.push((key, value));
                None
            }
        }
    }

    /// Appends a member whose name the caller knows to be new.
    pub fn push(&mut self, key: impl Into<Str>, value: impl Into<Value>) {
        self.0.push((key.into(), value.into()));
    }

    /// Takes the member out; the others keep their order.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    /// Keeps only the members that the question answers with yes.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Value) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    /// The members in order.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (&Str, &Value)> + DoubleEndedIterator + Clone {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The members in order, values to be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&Str, &mut Value)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The names in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Str> {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.iter().map(|(_, value)| value)
    }

    /// The members as a plain list.
    pub(crate) fn into_members(self) -> Vec<(Str, Value)> {
        self.0
    }

    /// The members as a plain slice.
    pub fn as_slice(&self) -> &[(Str, Value)] {
        &self.0
    }
}

impl From<Vec<(Str, Value)>> for Object {
    /// Takes members whose names the caller knows to be distinct.
    fn from(members: Vec<(Str, Value)>) -> Object {
        Object(members)
    }
}

impl FromIterator<(Str, Value)> for Object {
    /// Takes members whose names the caller knows to be distinct.
    fn from_iter<I: IntoIterator<Item = (Str, Value)>>(members: I) -> Object {
        Object(members.into_iter().collect())
    }
}

impl IntoIterator for Object {
    type Item = (Str, Value);
    type IntoIter = std::vec::IntoIter<(Str, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = &'a (Str, Value);
    type IntoIter = std::slice::Iter<'a, (Str, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
