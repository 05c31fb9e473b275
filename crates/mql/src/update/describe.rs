//! What an update changed, as change streams tell it.

use lapsedb_value::{Object, Str, Value};

/// How a document became another one.
#[derive(Clone, Debug)]
pub enum Described {
    /// It was replaced as a whole.
    Whole,
    /// Operators changed these fields.
    Fields(Description),
    /// It was computed anew: what changed is the difference between the two, see [`Description::between`].
    Difference,
    /// Parts of it were changed: what changed is the difference between the two, however large, see
    /// [`Description::of_change`].
    Change,
}

impl Described {
    /// What changed; none, if the document is to be told as a whole.
    pub fn description(&self, before: &Object, after: &Object) -> Option<Description> {
        match self {
            Described::Whole => None,
            Described::Fields(description) => Some(description.clone()),
            Described::Difference => Description::between(before, after),
            Described::Change => Some(Description::of_change(before, after)),
        }
    }
}

/// What an update changed.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Paths and their new values.
    pub updated: Vec<(Path, Value)>,
    /// Paths that are gone.
    pub removed: Vec<Path>,
    /// Arrays that became shorter, and how long they are now.
    pub truncated: Vec<(Path, usize)>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A member of an object.
    Name(Str),
    /// An element of an array.
    Index(usize),
}

impl Part {
    pub(super) fn name(name: &str) -> Part {
        Part::Name(Str::new(name))
    }

    /// Whether a dotted path does not say what this is.
    fn is_ambiguous(&self) -> bool {
        match self {
            Part::Name(name) => {
                let number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
                number || name.contains('.')
            }
            Part::Index(_) => false,
        }
    }
}

/// Where in a document something changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Vec<Part>);

impl Path {
    pub(super) fn with(&self, part: Part) -> Path {
        let mut parts = self.0.clone();
        parts.push(part);
        Path(parts)
    }

    /// The path of a dotted text in a document: whether a number is an element or a member's name, only the document knows.
    fn read(text: &str, document: &Object) -> Path {
        let mut parts = Vec::new();
        let mut holder: Option<&Value> = None;
        for (at, step) in text.split('.').enumerate() {
            let index = step.parse::<usize>().ok();
            let (part, next) = match (holder, index) {
                (Some(Value::Array(elements)), Some(index)) => {
                    (Part::Index(index), elements.get(index))
                }
                (Some(Value::Object(object)), _) => (Part::name(step), object.get(step)),
                _ if at == 0 => (Part::name(step), document.get(step)),
                _ => (Part::name(step), None),
            };
            parts.push(part);
            holder = next;
        }
        Path(parts)
    }

    /// The path with dots.
    pub fn text(&self) -> String {
        let step = |part: &Part| match part {
            Part::Name(name) => name.to_string(),
            Part::Index(index) => index.to_string(),
        };
        self.0.iter().map(step).collect::<Vec<_>>().join(".")
    }

    fn steps(&self) -> Value {
        let step = |part: &Part| match part {
            Part::Name(name) => Value::String(name.clone()),
            Part::Index(index) => Value::Int32(i32::try_from(*index).unwrap_or(i32::MAX)),
        };
        Value::Array(self.0.iter().map(step).collect())
    }
}

impl Description {
    /// The document `updateDescription` of a change event. Steps of paths that dots do not tell apart are said, if that is
    /// wanted.
    pub fn to_object(&self, disambiguated: bool) -> Object {
        let truncated = self.truncated.iter().map(|(path, size)| {
            let mut entry = Object::new();
            entry.push("field", path.text());
            entry.push(
                "newSize",
                Value::Int32(i32::try_from(*size).unwrap_or(i32::MAX)),
            );
            Value::Object(entry)
        });
        let mut updated = Object::with_capacity(self.updated.len());
        for (path, value) in &self.updated {
            updated.push(path.text(), value.clone());
        }
        let removed = self.removed.iter().map(|path| Value::from(path.text()));
        let mut object = Object::new();
        object.push("updatedFields", Value::Object(updated));
        object.push("removedFields", removed.collect::<Vec<_>>());
        object.push("truncatedArrays", truncated.collect::<Vec<_>>());
        if disambiguated {
            object.push("disambiguatedPaths", Value::Object(self.ambiguous()));
        }
        object
    }

    /// The steps of paths that could be taken for others.
    fn ambiguous(&self) -> Object {
        let updated = self.updated.iter().map(|(path, _)| path);
        let truncated = self.truncated.iter().map(|(path, _)| path);
        let mut object = Object::new();
        for path in updated.chain(&self.removed).chain(truncated) {
            if path.0.iter().any(Part::is_ambiguous) {
                object.insert(path.text(), path.steps());
            }
        }
        object
    }

    /// The description as it is stored with an event: paths with dots.
    pub fn to_stored(&self) -> Object {
        let mut updated = Object::with_capacity(self.updated.len());
        for (path, value) in &self.updated {
            updated.push(path.text(), value.clone());
        }
        let removed = self.removed.iter().map(|path| Value::from(path.text()));
        let mut stored = Object::with_capacity(2);
        stored.push("u", Value::Object(updated));
        stored.push("r", removed.collect::<Vec<_>>());
        stored
    }

    /// Reads what [`to_stored`](Self::to_stored) has written, of an update that made one document from another.
    pub fn of_stored(stored: &Object, before: &Object, after: &Object) -> Description {
        let members = stored.get("u").and_then(Value::as_object);
        let updated = members.into_iter().flat_map(Object::iter);
        let removed = stored.get("r").and_then(Value::as_array);
        let removed = removed.into_iter().flatten().filter_map(Value::as_str);
        Description {
            updated: updated
                .map(|(path, value)| (Path::read(path, after), value.clone()))
                .collect(),
            removed: removed.map(|path| Path::read(path, before)).collect(),
            truncated: Vec::new(),
        }
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

    pub(crate) fn into_description(self, before: &Object, after: &Object) -> Description {
        let updated = self.updated.into_iter();
        let removed = self.removed.iter();
        Description {
            updated: updated
                .map(|(path, value)| (Path::read(&path, after), value))
                .collect(),
            removed: removed.map(|path| Path::read(path, before)).collect(),
            truncated: Vec::new(),
        }
    }
}
