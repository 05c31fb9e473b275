//! `distinct`: the values at a path, each once, arrays by their elements.

use std::sync::Arc;

use lapsedb_value::order::compare_bson;
use lapsedb_value::{Object, Str, Value};

use crate::collation::Collation;
use crate::filter::FieldPath;
use crate::filter::path::Holder;

/// The values that were seen, in order.
#[derive(Debug)]
pub struct Distinct {
    path: FieldPath,
    collation: Option<Arc<Collation>>,
    /// What values are compared by, and the values.
    seen: Vec<(Value, Value)>,
}

impl Distinct {
    /// Nothing seen yet.
    pub fn new(path: &str, collation: Option<Arc<Collation>>) -> Distinct {
        Distinct {
            path: FieldPath::new(path),
            collation,
            seen: Vec::new(),
        }
    }

    /// Adds the values of a document.
    pub fn add(&mut self, document: &Object) {
        for value in values(document, &self.path) {
            self.push(value.clone());
        }
    }

    fn push(&mut self, value: Value) {
        let key = match &self.collation {
            Some(collation) => collation.fold(&value),
            None => value.clone(),
        };
        let place = self
            .seen
            .binary_search_by(|(known, _)| compare_bson(known, &key));
        if let Err(at) = place {
            self.seen.insert(at, (key, value));
        }
    }

    /// The values in order.
    pub fn into_values(self) -> Vec<Value> {
        self.seen.into_iter().map(|(_, value)| value).collect()
    }
}

/// The values of a document at a path, some perhaps several times.
pub fn values<'a>(document: &'a Object, path: &FieldPath) -> Vec<&'a Value> {
    let mut found = Vec::new();
    collect(Holder::Object(document), path.parts(), &mut found);
    found
}

/// The values at a path. Digits behind an array are a position in it and nothing else, unlike in a filter.
fn collect<'a>(holder: Holder<'a>, path: &[Str], found: &mut Vec<&'a Value>) {
    let [name, rest @ ..] = path else {
        return;
    };
    let value = match holder.get(name) {
        Some(value) => value,
        None => return,
    };
    match (value, rest) {
        (Value::Array(elements), []) => found.extend(elements),
        (plain, []) => found.push(plain),
        (Value::Object(object), _) => collect(Holder::Object(object), rest, found),
        (Value::Array(elements), [next, ..]) if next.bytes().all(|byte| byte.is_ascii_digit()) => {
            collect(Holder::Array(elements), rest, found);
        }
        (Value::Array(elements), _) => {
            for inner in elements.iter().filter_map(Holder::of) {
                collect(inner, rest, found);
            }
        }
        _ => {}
    }
}
