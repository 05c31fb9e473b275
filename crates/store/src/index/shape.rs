//! The shape of an item: at which paths it has a value. One entry for each item, under [`PathId::SHAPE`].
//!
//! An index holds what is there, not what is missing. Items mostly have few shapes, so the items that lack a path are found
//! by the shapes that lack it, without a look at the others.

use lapsedb_value::{Object, Value};

use super::encode::{PathId, Term, TermBytes};
use super::policy::{Cursor, IndexPolicy};

/// The entry of an item's shape; none if the policy indexes nothing.
///
/// Two items have the same shape if they have values at the same indexed paths, those of arrays' elements left out.
pub fn shape_term(policy: &IndexPolicy, item: &Object) -> Option<Term> {
    if !policy.is_complete() {
        return None;
    }
    let mut sum = 0;
    members(policy.cursor(), PathId::ROOT, item, &mut sum);
    Some(Term {
        path: PathId::SHAPE.0,
        bytes: TermBytes::from_slice(&sum.to_be_bytes()),
    })
}

fn members(cursor: Cursor<'_>, path: PathId, object: &Object, sum: &mut u64) {
    for (name, value) in object {
        let cursor = cursor.member(name);
        if value.is_undefined() || cursor.barren() {
            continue;
        }
        let path = path.member(name);
        if cursor.indexed() {
            // A sum does not care in which order the members come.
            *sum = sum.wrapping_add(super::encode::mix(path.0));
        }
        if let Value::Object(object) = value {
            members(cursor, path, object, sum);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lapsedb_value::json;

    fn shape(text: &str) -> Term {
        let value = json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap();
        shape_term(&IndexPolicy::default(), value.as_object().unwrap()).unwrap()
    }

    #[test]
    fn a_shape_is_where_values_are_and_not_what_they_are() {
        let one = shape(r#"{"id":"1","a":{"b":1},"t":[1]}"#);
        assert_eq!(one, shape(r#"{"t":[],"a":{"b":"x"},"id":"2"}"#));
        for other in [
            r#"{"id":"1","a":{"b":1}}"#,
            r#"{"id":"1","a":{"c":1},"t":[1]}"#,
            r#"{"id":"1","a":1,"t":[1]}"#,
            r#"{"id":"1","a":{"b":1},"t":[1],"x":null}"#,
        ] {
            assert_ne!(one, shape(other), "{other}");
        }
    }
}
