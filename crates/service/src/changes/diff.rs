//! What an update has changed, read off the document before and after it.

use lapsedb_value::order::identical_bson;
use lapsedb_value::{Object, Value};

/// `updatedFields`, `removedFields` and `truncatedArrays`.
pub(crate) fn describe(before: &Object, after: &Object) -> Object {
    let mut diff = Diff::default();
    diff.objects("", before, after);
    let mut description = Object::with_capacity(3);
    description.push("updatedFields", Value::Object(diff.updated));
    description.push("removedFields", Value::Array(diff.removed));
    description.push("truncatedArrays", Value::Array(diff.truncated));
    description
}

#[derive(Default)]
struct Diff {
    updated: Object,
    removed: Vec<Value>,
    truncated: Vec<Value>,
}

impl Diff {
    fn objects(&mut self, path: &str, before: &Object, after: &Object) {
        for (name, _) in before.iter() {
            if !after.contains_key(name) {
                self.removed.push(Value::from(joined(path, name)));
            }
        }
        for (name, new) in after.iter() {
            match before.get(name) {
                Some(old) => self.values(&joined(path, name), old, new),
                None => self.updated.push(joined(path, name), new.clone()),
            }
        }
    }

    fn values(&mut self, path: &str, old: &Value, new: &Value) {
        if identical_bson(old, new) {
            return;
        }
        match (old, new) {
            (Value::Object(old), Value::Object(new)) if !old.is_empty() && !new.is_empty() => {
                self.objects(path, old, new);
            }
            (Value::Array(old), Value::Array(new)) if !old.is_empty() && !new.is_empty() => {
                self.arrays(path, old, new);
            }
            _ => self.updated.push(path, new.clone()),
        }
    }

    fn arrays(&mut self, path: &str, old: &[Value], new: &[Value]) {
        if new.len() < old.len() {
            let mut truncated = Object::with_capacity(2);
            truncated.push("field", path);
            truncated.push("newSize", i32::try_from(new.len()).unwrap_or(i32::MAX));
            self.truncated.push(Value::Object(truncated));
        }
        for (at, value) in new.iter().enumerate() {
            let place = joined(path, &at.to_string());
            match old.get(at) {
                Some(before) => self.values(&place, before, value),
                None => self.updated.push(place, value.clone()),
            }
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn object(text: &str) -> Object {
        let limits = lapsedb_value::json::Limits::DEFAULT;
        let value = lapsedb_value::json::parse(text.as_bytes(), &limits).unwrap();
        value.into_object().unwrap()
    }

    #[test]
    fn only_what_differs_is_told() {
        for (before, after, wanted) in [
            (
                r#"{"a":1}"#,
                r#"{"a":1}"#,
                r#"{"updatedFields":{},"removedFields":[],"truncatedArrays":[]}"#,
            ),
            (
                r#"{"a":1,"b":2}"#,
                r#"{"a":3,"c":4}"#,
                r#"{"updatedFields":{"a":3,"c":4},"removedFields":["b"],"truncatedArrays":[]}"#,
            ),
            (
                r#"{"a":{"b":1,"c":2}}"#,
                r#"{"a":{"b":1,"c":3}}"#,
                r#"{"updatedFields":{"a.c":3},"removedFields":[],"truncatedArrays":[]}"#,
            ),
            (
                r#"{"a":[1,2,3]}"#,
                r#"{"a":[1,5]}"#,
                r#"{"updatedFields":{"a.1":5},"removedFields":[],"truncatedArrays":[{"field":"a","newSize":2}]}"#,
            ),
        ] {
            let told = describe(&object(before), &object(after));
            assert_eq!(Value::Object(told).to_string(), wanted);
        }
    }
}
