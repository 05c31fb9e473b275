//! Partial updates: up to ten operations, applied in order, all or nothing.

use lapsedb_sql::Env;
use lapsedb_store::Collection;
use lapsedb_value::path::Segment;
use lapsedb_value::{Object, Value, number};

use crate::error::{Error, Result};
use crate::limits::PATCH_OPERATIONS_MAX;
use crate::resource::SYSTEM_PROPERTIES;

/// A patch as a client sends it.
#[derive(Clone, Debug)]
pub struct Patch {
    /// Applied only if the item fulfils this.
    pub condition: Option<Condition>,
    operations: Vec<PatchOp>,
}

/// The tail of a query from its FROM on, asked of one item.
#[derive(Clone, Debug)]
pub struct Condition(Box<lapsedb_sql::Condition>);

#[derive(Clone, Debug)]
struct PatchOp {
    verb: Verb,
    path: Pointer,
}

#[derive(Clone, Debug)]
enum Verb {
    Add(Value),
    Set(Value),
    Replace(Value),
    Remove,
    Increment(Value),
    Move(Pointer),
}

/// A JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pointer {
    text: String,
    segments: Vec<String>,
}

impl Condition {
    /// Whether a document fulfils it.
    ///
    /// # Errors
    /// When it cannot be evaluated.
    pub fn holds(&self, document: &Value, now_ms: i64) -> Result<bool> {
        Ok(self.0.holds(document, &Env::new(now_ms))?)
    }
}

impl Patch {
    /// Reads `{"condition":…,"operations":[…]}`, or the bare list of operations.
    ///
    /// # Errors
    /// When it is neither, names an unknown operation, or has too many.
    pub fn parse(body: &Value) -> Result<Patch> {
        let (condition, operations) = match body {
            Value::Array(operations) => (&Value::Undefined, operations.as_slice()),
            Value::Object(_) => match body.get("operations") {
                Value::Array(operations) => (body.get("condition"), operations.as_slice()),
                _ => return Err(invalid("the member 'operations' must be an array")),
            },
            _ => {
                return Err(invalid(
                    "an object with 'operations', or an array of operations, is expected",
                ));
            }
        };
        if operations.is_empty() {
            return Err(invalid("there is no operation in it"));
        }
        if operations.len() > PATCH_OPERATIONS_MAX {
            return Err(Error::bad_request(format!(
                "The number of patch operations can't exceed '{PATCH_OPERATIONS_MAX}'"
            )));
        }
        let condition = match condition {
            Value::Undefined | Value::Null => None,
            Value::String(text) => Some(Condition(Box::new(lapsedb_sql::parse_condition(text)?))),
            _ => return Err(invalid("the member 'condition' must be a string")),
        };
        let operations = operations
            .iter()
            .map(PatchOp::parse)
            .collect::<Result<_>>()?;
        Ok(Patch {
            condition,
            operations,
        })
    }

    /// Applies all operations to a document.
    ///
    /// # Errors
    /// When one does not fit; the document is then of no use.
    pub fn apply(&self, document: &mut Object, collection: &Collection) -> Result<()> {
        let mut root = Value::Object(std::mem::take(document));
        for (at, operation) in self.operations.iter().enumerate() {
            operation.path.check_allowed(collection)?;
            if let Verb::Move(from) = &operation.verb {
                from.check_allowed(collection)?;
            }
            operation
                .apply(&mut root)
                .map_err(|error| of_operation(at + 1, error))?;
        }
        *document = root.into_object().unwrap_or_default();
        Ok(())
    }
}

impl PatchOp {
    fn parse(value: &Value) -> Result<PatchOp> {
        let Some(name) = value.get("op").as_str() else {
            return Err(invalid("an operation lacks the string 'op'"));
        };
        let path = Pointer::parse(value.get("path"), "path")?;
        let operand = || match value.get("value") {
            Value::Undefined => Err(invalid(&format!("the operation '{name}' lacks 'value'"))),
            operand => Ok(operand.clone()),
        };
        let verb = match name.to_ascii_lowercase().as_str() {
            "add" => Verb::Add(operand()?),
            "set" => Verb::Set(operand()?),
            "replace" => Verb::Replace(operand()?),
            "remove" => Verb::Remove,
            "incr" | "increment" => match operand()? {
                by if by.is_number() => Verb::Increment(by),
                _ => return Err(invalid("the 'value' of 'incr' must be a number")),
            },
            "move" => {
                let from = Pointer::parse(value.get("from"), "from")?;
                if path.segments.len() > from.segments.len()
                    && path.segments.starts_with(&from.segments)
                {
                    return Err(invalid("a value cannot be moved into itself"));
                }
                Verb::Move(from)
            }
            _ => {
                return Err(invalid(&format!(
                    "the operation '{name}' is unknown; add, set, replace, remove, incr and move are allowed"
                )));
            }
        };
        Ok(PatchOp { verb, path })
    }

    fn apply(&self, root: &mut Value) -> Result<()> {
        match &self.verb {
            Verb::Add(value) => self.path.insert("Add", root, value.clone(), false),
            Verb::Set(value) => self.path.insert("Set", root, value.clone(), true),
            Verb::Replace(value) => {
                *self.path.target("Replace", root)? = value.clone();
                Ok(())
            }
            Verb::Remove => self.path.remove("Remove", root).map(drop),
            Verb::Increment(by) => self.increment(root, by),
            Verb::Move(from) => {
                let value = from.remove("Move", root)?;
                self.path.insert("Move", root, value, true)
            }
        }
    }

    fn increment(&self, root: &mut Value, by: &Value) -> Result<()> {
        match self.path.find(root) {
            None => self.path.insert("Increment", root, by.clone(), false),
            Some(target) if !target.is_number() => Err(invalid(&format!(
                "'{}' is not a number and cannot be incremented",
                self.path.text
            ))),
            Some(target) => match number::add(target, by) {
                Some(sum) => {
                    *target = sum;
                    Ok(())
                }
                None => Err(invalid(&format!(
                    "the increment of '{}' leaves the range of numbers",
                    self.path.text
                ))),
            },
        }
    }
}

impl Pointer {
    fn parse(value: &Value, name: &str) -> Result<Pointer> {
        let Some(text) = value.as_str() else {
            return Err(invalid(&format!("an operation lacks the string '{name}'")));
        };
        let Some(rest) = text.strip_prefix('/') else {
            return Err(invalid(&format!(
                "the path '{text}' must begin with '/' and name a property"
            )));
        };
        let segments: Vec<String> = rest
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect();
        if segments.first().is_some_and(String::is_empty) {
            return Err(invalid(&format!("the path '{text}' names no property")));
        }
        Ok(Pointer {
            text: text.to_owned(),
            segments,
        })
    }

    /// System properties, the id and what the partition key is read from cannot be patched.
    fn check_allowed(&self, collection: &Collection) -> Result<()> {
        let first = self
            .segments
            .first()
            .map(String::as_str)
            .unwrap_or_default();
        if SYSTEM_PROPERTIES.contains(&first) || (first == "id" && self.segments.len() == 1) {
            return Err(Error::bad_request(format!(
                "Invalid patch request: Cannot patch system property {first}"
            )));
        }
        for path in &collection.partition_key.paths {
            let overlaps = path
                .segments()
                .iter()
                .zip(&self.segments)
                .all(|(segment, own)| match segment {
                    Segment::Member(name) => name == own,
                    Segment::Elements => true,
                });
            if overlaps {
                return Err(Error::bad_request(format!(
                    "Invalid patch request: Cannot patch the partition key property '{}'",
                    self.text
                )));
            }
        }
        Ok(())
    }

    fn split(&self) -> (&[String], &str) {
        match self.segments.split_last() {
            Some((last, parents)) => (parents, last),
            None => (&[], ""),
        }
    }

    /// The value the pointer names, if it is there.
    fn find<'v>(&self, root: &'v mut Value) -> Option<&'v mut Value> {
        self.segments
            .iter()
            .try_fold(root, |value, segment| child(value, segment))
    }

    fn target<'v>(&self, verb: &str, root: &'v mut Value) -> Result<&'v mut Value> {
        self.find(root).ok_or_else(|| self.missing(verb))
    }

    fn parent<'v>(&self, verb: &str, root: &'v mut Value) -> Result<&'v mut Value> {
        let (parents, _) = self.split();
        let mut value = root;
        for (at, segment) in parents.iter().enumerate() {
            value = child(value, segment).ok_or_else(|| self.no_parent(verb, at))?;
        }
        Ok(value)
    }

    fn insert(&self, verb: &str, root: &mut Value, value: Value, overwrite: bool) -> Result<()> {
        let (_, last) = self.split();
        match self.parent(verb, root)? {
            Value::Object(object) => {
                object.insert(last, value);
                Ok(())
            }
            Value::Array(elements) => {
                if last == "-" {
                    elements.push(value);
                    return Ok(());
                }
                match index(last) {
                    Some(at) if overwrite && at < elements.len() => elements[at] = value,
                    Some(at) if at <= elements.len() => elements.insert(at, value),
                    Some(_) | None => {
                        return Err(invalid(&format!(
                            "'{}' is not an index of the array, which has {} elements",
                            self.text,
                            elements.len()
                        )));
                    }
                }
                Ok(())
            }
            _ => Err(self.no_parent(verb, self.segments.len().saturating_sub(2))),
        }
    }

    fn remove(&self, verb: &str, root: &mut Value) -> Result<Value> {
        let (_, last) = self.split();
        let removed = match self.parent(verb, root)? {
            Value::Object(object) => object.remove(last),
            Value::Array(elements) => index(last)
                .filter(|at| *at < elements.len())
                .map(|at| elements.remove(at)),
            _ => None,
        };
        removed.ok_or_else(|| self.missing(verb))
    }

    fn missing(&self, verb: &str) -> Error {
        Error::bad_request(format!(
            "{verb} Operation only support on existing node: there is nothing at the path '{}'",
            self.text
        ))
    }

    /// The failure of a path that ends at one of its segments.
    fn no_parent(&self, verb: &str, at: usize) -> Error {
        let found = self.segments.get(..=at).unwrap_or(&self.segments);
        Error::bad_request(format!(
            "{verb} Operation can only create a child object of an existing node(array or object) and cannot create path \
             recursively, no path found beyond: '{}'. Learn more: https://aka.ms/cosmosdbpatchdocs",
            found.join("/")
        ))
    }
}

/// The failure of one of several operations, with its number, the first of which is 1.
fn of_operation(number: usize, error: Error) -> Error {
    Error {
        message: format!("For Operation({number}): {}", error.message),
        ..error
    }
}

fn child<'v>(value: &'v mut Value, segment: &str) -> Option<&'v mut Value> {
    match value {
        Value::Object(object) => object.get_mut(segment),
        Value::Array(elements) => elements.get_mut(index(segment)?),
        _ => None,
    }
}

/// An array index: digits without a leading zero.
fn index(segment: &str) -> Option<usize> {
    let plain = segment.bytes().all(|byte| byte.is_ascii_digit())
        && (segment.len() == 1 || !segment.starts_with('0'));
    if plain { segment.parse().ok() } else { None }
}

fn invalid(what: &str) -> Error {
    Error::bad_request(format!("Invalid patch request: {what}"))
}
