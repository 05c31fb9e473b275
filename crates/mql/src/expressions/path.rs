//! Field paths and variables: `$a.b`, `$$name.a`.

use std::borrow::Cow;

use lapsedb_value::{Object, Str, Value};

use super::scope::{Names, Scope};
use crate::{MqlError, Result};

/// Names a path may have, as everywhere in documents.
const PATH_DEPTH_MAX: usize = 200;

/// Where a path starts, and the names it follows.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    base: Base,
    steps: Vec<Str>,
}

#[derive(Clone, Debug)]
enum Base {
    Current,
    Root,
    Now,
    ClusterTime,
    Remove,
    Variable(Str),
}

impl Path {
    /// Reads `$a.b` or `$$name.a.b`, the sign included.
    pub(crate) fn parse(text: &str, names: &Names) -> Result<Path> {
        match text.strip_prefix("$$") {
            Some(rest) => Path::parse_variable(rest, names),
            None => {
                let rest = text.strip_prefix('$').unwrap_or(text);
                if rest.is_empty() {
                    return Err(MqlError::new(
                        16872,
                        "'$' by itself is not a valid FieldPath",
                    ));
                }
                Ok(Path {
                    base: Base::Current,
                    steps: split(rest)?,
                })
            }
        }
    }

    fn parse_variable(text: &str, names: &Names) -> Result<Path> {
        let (name, rest) = match text.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        check_readable_name(name)?;
        let base = match name {
            _ if names.contains(name) && name != "CURRENT" => Base::Variable(name.into()),
            "CURRENT" => Base::Current,
            "ROOT" => Base::Root,
            "NOW" => Base::Now,
            "CLUSTER_TIME" => Base::ClusterTime,
            "REMOVE" => Base::Remove,
            _ => {
                return Err(MqlError::new(
                    17276,
                    format!("Use of undefined variable: {name}"),
                ));
            }
        };
        let steps = match rest {
            Some(rest) => split(rest)?,
            None => Vec::new(),
        };
        Ok(Path { base, steps })
    }

    /// Adds the name of the outermost member that it reads; false, if it reads the whole document.
    pub(crate) fn fields(&self, names: &mut Vec<Str>) -> bool {
        match (&self.base, self.steps.first()) {
            (Base::Current | Base::Root, None) => false,
            (Base::Current | Base::Root, Some(first)) => {
                if !names.contains(first) {
                    names.push(first.clone());
                }
                true
            }
            (Base::Now | Base::ClusterTime | Base::Remove | Base::Variable(_), _) => true,
        }
    }

    /// What is there; the absence of a value if nothing is. Arrays on the way yield an array of what their objects have.
    pub(crate) fn get<'s>(&self, scope: &Scope<'s>) -> Result<Cow<'s, Value>> {
        let start = match &self.base {
            Base::Current => match scope.current() {
                Some(current) => current,
                None => return Ok(from_document(scope.root(), &self.steps)),
            },
            Base::Root => return Ok(from_document(scope.root(), &self.steps)),
            Base::Now => return Ok(Cow::Owned(scalar(Value::Date(scope.env().now()), self))),
            Base::ClusterTime => match scope.env().cluster_time() {
                Some(stamp) => return Ok(Cow::Owned(scalar(Value::Timestamp(stamp), self))),
                None => {
                    return Err(MqlError::new(
                        51144,
                        "Builtin variable '$$CLUSTER_TIME' is not available",
                    ));
                }
            },
            Base::Remove => Value::undefined(),
            Base::Variable(name) => scope.variable(name),
        };
        Ok(follow(start, &self.steps))
    }
}

/// A value without members: any further name leads nowhere.
fn scalar(value: Value, path: &Path) -> Value {
    match path.steps.is_empty() {
        true => value,
        false => Value::Undefined,
    }
}

fn from_document<'v>(document: &'v Object, steps: &[Str]) -> Cow<'v, Value> {
    match steps.split_first() {
        None => Cow::Owned(Value::Object(document.clone())),
        Some((first, rest)) => match document.get(first) {
            Some(value) => follow(value, rest),
            None => Cow::Borrowed(Value::undefined()),
        },
    }
}

/// Follows the names from a value.
pub(crate) fn follow<'v>(value: &'v Value, steps: &[Str]) -> Cow<'v, Value> {
    let Some((first, rest)) = steps.split_first() else {
        return Cow::Borrowed(value);
    };
    match value {
        Value::Object(object) => match object.get(first) {
            Some(member) => follow(member, rest),
            None => Cow::Borrowed(Value::undefined()),
        },
        Value::Array(elements) => {
            // Arrays inside arrays are not looked into.
            let objects = elements
                .iter()
                .filter(|element| element.as_object().is_some());
            let found = objects
                .map(|object| follow(object, steps).into_owned())
                .filter(|value| !value.is_undefined());
            Cow::Owned(Value::Array(found.collect()))
        }
        _ => Cow::Borrowed(Value::undefined()),
    }
}

/// The names of a dotted path, each checked.
pub(crate) fn split(text: &str) -> Result<Vec<Str>> {
    if text.is_empty() {
        return Err(MqlError::new(
            40352,
            "FieldPath cannot be constructed with empty string",
        ));
    }
    if text.ends_with('.') {
        return Err(MqlError::new(40353, "FieldPath must not end with a '.'."));
    }
    let steps: Vec<Str> = text.split('.').map(Str::new).collect();
    if steps.len() > PATH_DEPTH_MAX {
        return Err(MqlError::new(
            15,
            format!("FieldPath is too long: more than {PATH_DEPTH_MAX} names"),
        ));
    }
    steps.iter().try_for_each(|step| check_field_name(step))?;
    Ok(steps)
}

fn check_field_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(MqlError::new(
            15998,
            "FieldPath field names may not be empty strings.",
        ));
    }
    if name.starts_with('$') {
        return Err(MqlError::new(
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ));
    }
    if name.contains('\0') {
        return Err(MqlError::new(
            16411,
            "FieldPath field names may not contain '\0'.",
        ));
    }
    Ok(())
}

/// Checks the name of a member of an object that an expression builds.
pub(crate) fn check_member_name(name: &str) -> Result<()> {
    check_field_name(name)?;
    match name.contains('.') {
        true => Err(MqlError::new(
            16412,
            "FieldPath field names may not contain '.'. Consider using $getField or $setField.",
        )),
        false => Ok(()),
    }
}

fn check_readable_name(name: &str) -> Result<()> {
    let first = name.chars().next();
    let Some(first) = first else {
        return Err(MqlError::failed_to_parse(
            "empty variable names are not allowed",
        ));
    };
    if !first.is_ascii_alphabetic() && first.is_ascii() {
        return Err(MqlError::failed_to_parse(format!(
            "'{name}' starts with an invalid character for a variable name"
        )));
    }
    check_name_tail(name)
}

/// Checks the name of a variable that a user defines.
pub(crate) fn check_variable_name(name: &str) -> Result<()> {
    let Some(first) = name.chars().next() else {
        return Err(MqlError::failed_to_parse(
            "empty variable names are not allowed",
        ));
    };
    // CURRENT is the one name of the system's that may be bound anew.
    if name == "CURRENT" {
        return Ok(());
    }
    if !first.is_ascii_lowercase() && first.is_ascii() {
        return Err(MqlError::failed_to_parse(format!(
            "'{name}' starts with an invalid character for a user variable name"
        )));
    }
    check_name_tail(name)
}

/// Variables that only the server sets.
const SYSTEM_CONSTANTS: [&str; 5] = ["NOW", "CLUSTER_TIME", "JS_SCOPE", "IS_MR", "USER_ROLES"];
/// Variables of the server that are not constants.
const SYSTEM_VARIABLES: [&str; 6] = ["ROOT", "REMOVE", "DESCEND", "PRUNE", "KEEP", "SEARCH_META"];

/// Checks the name of a variable that a command defines for all its expressions.
pub(crate) fn check_let_name(name: &str) -> Result<()> {
    if SYSTEM_CONSTANTS.contains(&name) {
        return Err(MqlError::new(
            4_738_901,
            format!("Attempt to set internal constant: {name}"),
        ));
    }
    check_variable_name(name).map_err(|error| {
        MqlError::new(
            error.code,
            format!("Invalid 'let' parameter :: caused by :: {}", error.message),
        )
    })
}

/// Checks the name of a constant of an update. MongoDB also takes names that begin with a capital letter here.
pub(crate) fn check_constant_name(name: &str) -> Result<()> {
    if SYSTEM_CONSTANTS.contains(&name) || SYSTEM_VARIABLES.contains(&name) {
        return Err(MqlError::new(
            17_275,
            "Can't redefine a non-user-writable variable",
        ));
    }
    match name.starts_with(|first: char| first.is_ascii_uppercase()) {
        true => check_name_tail(name),
        false => check_variable_name(name),
    }
}

fn check_name_tail(name: &str) -> Result<()> {
    let odd = name
        .chars()
        .find(|sign| sign.is_ascii() && !sign.is_ascii_alphanumeric() && *sign != '_');
    match odd {
        Some(sign) => Err(MqlError::failed_to_parse(format!(
            "'{name}' contains an invalid character for a variable name: '{sign}'"
        ))),
        None => Ok(()),
    }
}
