//! What an update changed, as change streams tell it.

use lapsedb_value::order::identical_bson;
use lapsedb_value::{Object, Str, Value};

/// What an update changed.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Paths and their new values.
    pub updated: Object,
    /// Paths that are gone.
    pub removed: Vec<String>,
    /// Arrays that became shorter, and how long they are now.
    pub truncated: Vec<(String, usize)>,
}

impl Description {
    /// The document `updateDescription` of a change event.
    pub fn to_object(&self) -> Object {
        let truncated = self.truncated.iter().map(|(path, size)| {
            let mut entry = Object::new();
            entry.push("field", path.as_str());
            entry.push(
                "newSize",
                Value::Int32(i32::try_from(*size).unwrap_or(i32::MAX)),
            );
            Value::Object(entry)
        });
        let removed = self.removed.iter().map(|path| Value::from(path.as_str()));
        let mut object = Object::new();
        object.push("updatedFields", self.updated.clone());
        object.push("removedFields", removed.collect::<Vec<_>>());
        object.push("truncatedArrays", truncated.collect::<Vec<_>>());
        object
    }

    /// The differences between two versions of a document.
    pub fn between(before: &Object, after: &Object) -> Description {
        let mut description = Description::default();
        description.objects("", before, after);
        description
    }

    fn objects(&mut self, prefix: &str, before: &Object, after: &Object) {
        for name in before.keys().filter(|name| !after.contains_key(name)) {
            self.removed.push(joined(prefix, name));
        }
        for (name, value) in after {
            let path = joined(prefix, name);
            match before.get(name) {
                Some(old) => self.values(&path, old, value),
                None => {
                    self.updated.push(path, value.clone());
                }
            }
        }
    }

    fn values(&mut self, path: &str, before: &Value, after: &Value) {
        match (before, after) {
            _ if identical_bson(before, after) => {}
            (Value::Object(before), Value::Object(after)) if !after.is_empty() => {
                self.objects(path, before, after);
            }
            (Value::Array(before), Value::Array(after)) => self.arrays(path, before, after),
            _ => self.updated.push(path, after.clone()),
        }
    }

    fn arrays(&mut self, path: &str, before: &[Value], after: &[Value]) {
        if after.len() < before.len() {
            self.truncated.push((path.to_owned(), after.len()));
        }
        for (at, value) in after.iter().enumerate() {
            let path = format!("{path}.{at}");
            match before.get(at) {
                Some(old) => self.values(&path, old, value),
                None => self.updated.push(path, value.clone()),
            }
        }
    }
}

fn joined(prefix: &str, name: &str) -> String {
    match prefix {
        "" => name.to_owned(),
        _ => format!("{prefix}.{name}"),
    }
}

/// The notes that operators make while they change a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    updated: Vec<(Str, Value)>,
    removed: Vec<String>,
}

/// How many notes there were at some time.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    updated: usize,
    removed: usize,
}

impl Changes {
    pub(crate) fn set(&mut self, path: &str, value: &Value) {
        self.updated.push((Str::new(path), value.clone()));
    }

    pub(crate) fn remove(&mut self, path: &str) {
        self.removed.push(path.to_owned());
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            updated: self.updated.len(),
            removed: self.removed.len(),
        }
    }

    /// Forgets what was noted since.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.updated.truncate(mark.updated);
        self.removed.truncate(mark.removed);
    }

    pub(crate) fn into_description(self) -> Description {
        Description {
            updated: self.updated.into(),
            removed: self.removed,
            truncated: Vec::new(),
        }
    }
}
