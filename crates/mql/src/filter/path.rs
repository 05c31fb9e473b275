//! Dotted paths, and how a filter looks along them: through arrays, and by their positions.

use lapsedb_value::{Object, Str, Value};

/// The names of a dotted path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    text: Str,
    parts: Vec<Str>,
}

impl FieldPath {
    /// Takes the path apart at its dots; every text is a path.
    pub fn new(text: &str) -> FieldPath {
        FieldPath {
            text: Str::new(text),
            parts: text.split('.').map(Str::new).collect(),
        }
    }

    /// The path as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names between the dots.
    pub fn parts(&self) -> &[Str] {
        &self.parts
    }
}

/// The position that a name means in an array: digits without needless zeros.
pub(crate) fn position(name: &str) -> Option<usize> {
    let canonical = name == "0" || !name.starts_with(['0', '+']);
    name.parse().ok().filter(|_| canonical)
}

/// What has members: an object, or an array whose members are called by their positions.
#[derive(Clone, Copy)]
pub(crate) enum Holder<'a> {
    Object(&'a Object),
    Array(&'a [Value]),
    /// One member of a certain name.
    Only(&'a str, &'a Value),
}

impl<'a> Holder<'a> {
    /// The value as something with members.
    pub(crate) fn of(value: &'a Value) -> Option<Holder<'a>> {
        match value {
            Value::Object(object) => Some(Holder::Object(object)),
            Value::Array(elements) => Some(Holder::Array(elements)),
            _ => None,
        }
    }

    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        match self {
            Holder::Object(object) => object.get(name),
            Holder::Array(elements) => elements.get(position(name)?),
            Holder::Only(only, value) => (only == name).then_some(value),
        }
    }
}

/// What is done with an array at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Its elements are looked at, then the array itself.
    Elements,
    /// Only the array itself.
    Whole,
}

/// Called for every value along a path, missing ones as undefined, with the position in the outermost array that was
/// looked through; ends the walk by answering `true`.
pub(crate) type Visit<'v, 'a> = dyn FnMut(&'a Value, Option<usize>) -> bool + 'v;

/// A walk along a path.
pub(crate) struct Walk<'v, 'a> {
    pub(crate) leaf: Leaf,
    pub(crate) visit: &'v mut Visit<'v, 'a>,
}

impl<'a> Walk<'_, 'a> {
    /// Walks from a holder; answers whether a visit ended it.
    pub(crate) fn from(
        &mut self,
        mut holder: Holder<'a>,
        parts: &[Str],
        offset: Option<usize>,
    ) -> bool {
        let mut rest = parts;
        while let [name, after @ ..] = rest {
            let Some(value) = holder.get(name) else {
                return (self.visit)(Value::undefined(), offset);
            };
            if after.is_empty() {
                return self.end(value, offset);
            }
            rest = after;
            holder = match value {
                Value::Object(object) => Holder::Object(object),
                Value::Array(elements) => return self.through(elements, rest, offset),
                _ => return (self.visit)(Value::undefined(), offset),
            };
        }
        false
    }

    fn end(&mut self, value: &'a Value, offset: Option<usize>) -> bool {
        if let (Value::Array(elements), Leaf::Elements) = (value, self.leaf) {
            for (at, element) in elements.iter().enumerate() {
                if (self.visit)(element, offset.or(Some(at))) {
                    return true;
                }
            }
        }
        (self.visit)(value, offset)
    }

    /// Looks into the elements of an array that the path goes through: each object by its members, and the one element
    /// whose position is the next name.
    fn through(&mut self, elements: &'a [Value], rest: &[Str], offset: Option<usize>) -> bool {
        let [name, after @ ..] = rest else {
            return false;
        };
        let wanted = position(name);
        for (at, element) in elements.iter().enumerate() {
            if let Value::Object(object) = element
                && self.from(Holder::Object(object), rest, offset.or(Some(at)))
            {
                return true;
            }
            if wanted == Some(at) && self.at_position(element, after, offset) {
                return true;
            }
        }
        false
    }

    fn at_position(&mut self, element: &'a Value, after: &[Str], offset: Option<usize>) -> bool {
        if after.is_empty() {
            // A position names one element: it is not looked into.
            return (self.visit)(element, offset);
        }
        match element {
            Value::Object(object) => self.from(Holder::Object(object), after, offset),
            Value::Array(elements) => self.through(elements, after, offset),
            _ => false,
        }
    }
}
