//! The difference between two versions of a document, as MongoDB's log has it: member by member and element by element,
//! unless saying the new value as a whole takes no more bytes.

use lapsedb_value::order::identical_bson;
use lapsedb_value::{Object, Value, bson};

use super::describe::{Description, Part, Path};

/// Bytes that the log adds to a difference.
const ENTRY_BYTES: usize = 15;
/// Bytes of a document without members: its length and its end.
const DOCUMENT_BYTES: usize = 5;

/// What has changed in an object.
#[derive(Default)]
struct ObjectDifference<'a> {
    removed: Vec<&'a str>,
    updated: Vec<(&'a str, &'a Value)>,
    added: Vec<(&'a str, &'a Value)>,
    inner: Vec<(&'a str, Difference<'a>)>,
}

/// What has changed in an array.
struct ArrayDifference<'a> {
    /// How long it is now, if it is shorter.
    length: Option<usize>,
    elements: Vec<(usize, Element<'a>)>,
}

enum Element<'a> {
    Updated(&'a Value),
    Inner(Difference<'a>),
}

enum Difference<'a> {
    Object(ObjectDifference<'a>),
    Array(ArrayDifference<'a>),
}

impl Description {
    /// The difference between two versions of a document; none, if the log has the new version as a whole because it is
    /// not larger.
    pub fn between(before: &Object, after: &Object) -> Option<Description> {
        let difference = objects(before, after);
        let smaller = difference.bytes() + ENTRY_BYTES < object_bytes(after);
        smaller.then(|| described(&difference))
    }

    /// The members that are another now, each as a whole.
    pub fn of_members(before: &Object, after: &Object) -> Description {
        let mut description = Description::default();
        for (name, value) in after.iter() {
            let same = before
                .get(name)
                .is_some_and(|old| identical_bson(old, value));
            if !same {
                let path = Path::default().with(Part::name(name));
                description.updated.push((path, value.clone()));
            }
        }
        description
    }

    /// The difference between two versions of a document, however large it is.
    pub fn of_change(before: &Object, after: &Object) -> Description {
        described(&objects(before, after))
    }
}

fn described(difference: &ObjectDifference<'_>) -> Description {
    let mut description = Description::default();
    describe_object(difference, &mut Path::default(), &mut description);
    description
}

fn objects<'a>(before: &'a Object, after: &'a Object) -> ObjectDifference<'a> {
    let mut difference = ObjectDifference::default();
    let mut old = before.iter().peekable();
    let mut new = after.iter().peekable();
    while let (Some((old_name, old_value)), Some((name, value))) = (old.peek(), new.peek()) {
        if old_name == name {
            if !identical_bson(old_value, value) {
                match inner(old_value, value) {
                    Some(inner) => difference.inner.push((name.as_str(), inner)),
                    None => difference.updated.push((name.as_str(), value)),
                }
            }
            new.next();
        } else {
            // It is gone, or it stands further behind and is put there anew.
            difference.removed.push(old_name.as_str());
        }
        old.next();
    }
    difference
        .removed
        .extend(old.map(|(name, _)| name.as_str()));
    for (name, value) in new {
        difference
            .removed
            .retain(|removed| *removed != name.as_str());
        difference.added.push((name.as_str(), value));
    }
    difference
}

fn arrays<'a>(before: &'a [Value], after: &'a [Value]) -> Option<ArrayDifference<'a>> {
    let mut elements = Vec::new();
    for (at, value) in after.iter().enumerate() {
        match before.get(at) {
            Some(old) if identical_bson(old, value) => {}
            Some(old) => match inner(old, value) {
                Some(inner) => elements.push((at, Element::Inner(inner))),
                None => elements.push((at, Element::Updated(value))),
            },
            None => elements.push((at, Element::Updated(value))),
        }
    }
    let difference = ArrayDifference {
        length: (before.len() > after.len()).then_some(after.len()),
        elements,
    };
    (difference.bytes() < array_bytes(after)).then_some(difference)
}

/// The difference between two objects or two arrays, if it is worth it.
fn inner<'a>(before: &'a Value, after: &'a Value) -> Option<Difference<'a>> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let difference = objects(before, after);
            (difference.bytes() < object_bytes(after)).then_some(Difference::Object(difference))
        }
        (Value::Array(before), Value::Array(after)) => arrays(before, after).map(Difference::Array),
        _ => None,
    }
}

impl ObjectDifference<'_> {
    /// How many bytes the log needs for it.
    fn bytes(&self) -> usize {
        let section = |members: usize| match members {
            0 => 0,
            // Its type, its name of one letter, and a document.
            bytes => 3 + DOCUMENT_BYTES + bytes,
        };
        let whole = |members: &[(&str, &Value)]| -> usize {
            members
                .iter()
                .map(|(name, value)| member_bytes(name.len(), value_bytes(value)))
                .sum()
        };
        let removed: usize = self
            .removed
            .iter()
            .map(|name| member_bytes(name.len(), 1))
            .sum();
        let inner: usize = self
            .inner
            .iter()
            .map(|(name, inner)| member_bytes(name.len() + 1, inner.bytes()))
            .sum();
        DOCUMENT_BYTES
            + section(removed)
            + section(whole(&self.updated))
            + section(whole(&self.added))
            + inner
    }
}

impl ArrayDifference<'_> {
    fn bytes(&self) -> usize {
        // That it is an array is said by a member of one letter.
        let head = DOCUMENT_BYTES + member_bytes(1, 1);
        let length = self.length.map_or(0, |_| member_bytes(1, 4));
        let elements: usize = self
            .elements
            .iter()
            .map(|(at, element)| {
                let bytes = match element {
                    Element::Updated(value) => value_bytes(value),
                    Element::Inner(inner) => inner.bytes(),
                };
                member_bytes(1 + at.to_string().len(), bytes)
            })
            .sum();
        head + length + elements
    }
}

impl Difference<'_> {
    fn bytes(&self) -> usize {
        match self {
            Difference::Object(difference) => difference.bytes(),
            Difference::Array(difference) => difference.bytes(),
        }
    }
}

/// A member's type, its name with its end, and its value.
const fn member_bytes(name: usize, value: usize) -> usize {
    1 + name + 1 + value
}

fn object_bytes(object: &Object) -> usize {
    let mut bytes = Vec::with_capacity(256);
    bson::write_document(object, &mut bytes);
    bytes.len()
}

fn array_bytes(elements: &[Value]) -> usize {
    let members = elements.iter().enumerate();
    let members = members
        .map(|(at, value)| member_bytes(at.to_string().len(), value_bytes(value)))
        .sum::<usize>();
    DOCUMENT_BYTES + members
}

fn value_bytes(value: &Value) -> usize {
    let mut holder = Object::with_capacity(1);
    holder.push("", value.clone());
    // An object with one member without a name: its own frame, the member's type and the end of its name.
    object_bytes(&holder).saturating_sub(DOCUMENT_BYTES + 2)
}

fn describe(difference: &Difference<'_>, path: &mut Path, description: &mut Description) {
    match difference {
        Difference::Object(difference) => describe_object(difference, path, description),
        Difference::Array(difference) => describe_array(difference, path, description),
    }
}

fn describe_object(
    difference: &ObjectDifference<'_>,
    path: &mut Path,
    description: &mut Description,
) {
    for name in &difference.removed {
        description.removed.push(path.with(Part::name(name)));
    }
    for (name, value) in difference.updated.iter().chain(&difference.added) {
        let path = path.with(Part::name(name));
        description.updated.push((path, Value::clone(value)));
    }
    for (name, inner) in &difference.inner {
        describe(inner, &mut path.with(Part::name(name)), description);
    }
}

fn describe_array(
    difference: &ArrayDifference<'_>,
    path: &mut Path,
    description: &mut Description,
) {
    if let Some(length) = difference.length {
        description.truncated.push((path.clone(), length));
    }
    for (at, element) in &difference.elements {
        let mut path = path.with(Part::Index(*at));
        match element {
            Element::Updated(value) => description.updated.push((path, Value::clone(value))),
            Element::Inner(inner) => describe(inner, &mut path, description),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(members: &[(&str, i32)]) -> Object {
        let mut object = Object::with_capacity(members.len());
        for (name, value) in members {
            object.push(*name, Value::Int32(*value));
        }
        object
    }

    #[test]
    fn a_small_document_is_told_as_a_whole_unless_parts_of_it_were_changed() {
        let (before, after) = (object(&[("n", 1), ("x", 1)]), object(&[("n", 2)]));
        assert!(Description::between(&before, &after).is_none());
        let change = Description::of_change(&before, &after);
        assert_eq!((change.updated.len(), change.removed.len()), (1, 1));
        assert!(Description::of_change(&after, &after).updated.is_empty());
    }
}
