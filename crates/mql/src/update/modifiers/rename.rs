//! `$rename`: a value from one place to another.

use lapsedb_value::{Object, Value};

use super::Outcome;
use super::set::replace;
use crate::show::show_element;
use crate::update::apply::Apply;
use crate::update::tree::{Step, steps};
use crate::{MqlError, Result};

/// Where the value comes from; it stands in the tree where the value goes.
#[derive(Clone, Debug)]
pub(crate) struct Rename {
    source: String,
}

impl Rename {
    /// Reads the new place, and gives it back.
    pub(crate) fn parse(source: &str, argument: &Value) -> Result<(String, Rename)> {
        let shown = show_element(source, argument);
        let refuse = |text: String| Err(MqlError::bad_value(text));
        let Some(target) = argument.as_str() else {
            return refuse(format!(
                "The 'to' field for $rename must be a string: {shown}"
            ));
        };
        if target.contains('\0') {
            return refuse(
                "The 'to' field for $rename cannot contain an embedded null byte".into(),
            );
        }
        let named = |path: &str| -> Result<bool> {
            Ok(steps(path)?
                .iter()
                .all(|step| matches!(step, Step::Name(_))))
        };
        if source == target {
            return refuse(format!(
                "The source and target field for $rename must differ: {shown}"
            ));
        }
        let below = |path: &str, other: &str| {
            path.strip_prefix(other)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        if below(source, target) || below(target, source) {
            return refuse(format!(
                "The source and target field for $rename must not be on the same path: {shown}"
            ));
        }
        if !named(source)? {
            return refuse(format!(
                "The source field for $rename may not be dynamic: {source}"
            ));
        }
        if !named(target)? {
            return refuse(format!(
                "The destination field for $rename may not be dynamic: {target}"
            ));
        }
        let source = source.to_owned();
        Ok((target.to_owned(), Rename { source }))
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn existing(&self, value: &mut Value, apply: &Apply<'_>) -> Result<Outcome> {
        match self.missing(apply)? {
            Some(moved) => Ok(match replace(value, &moved) {
                // Even onto an equal value, something moves.
                Outcome::Same => Outcome::Changed,
                other => other,
            }),
            None => Ok(Outcome::Same),
        }
    }

    /// The value that moves, if there is one.
    pub(crate) fn missing(&self, apply: &Apply<'_>) -> Result<Option<Value>> {
        let in_array = |what: &str, path: &str, array: &str| {
            Err(MqlError::bad_value(format!(
                "The {what} field cannot be an array element, '{path}' in doc with {} has an array field called '{array}'",
                apply.id_text()
            )))
        };
        let source = find(apply.original, &self.source);
        if let Some(error) = source.blocked {
            return Err(error);
        }
        let Some(moved) = source.value else {
            return Ok(None);
        };
        if let Some(array) = source.array {
            return in_array("source", &self.source, array);
        }
        let target = apply.path();
        // What blocks the new place is found when the value is put there.
        match find(apply.original, &target).array {
            Some(array) => in_array("destination", &target, array),
            None => Ok(Some(moved.clone())),
        }
    }

    /// Takes the value away from its old place; answers whether it was there.
    pub(crate) fn take(&self, root: &mut Value) -> bool {
        let (parent, name) = match self.source.rsplit_once('.') {
            Some((parent, name)) => (Some(parent), name),
            None => (None, self.source.as_str()),
        };
        let mut holder = Some(root);
        for step in parent.into_iter().flat_map(|parent| parent.split('.')) {
            holder = holder
                .and_then(Value::as_object_mut)
                .and_then(|object| object.get_mut(step));
        }
        let object = holder.and_then(Value::as_object_mut);
        object.is_some_and(|object| object.remove(name).is_some())
    }
}

/// What lies at a path, and the first array on the way.
struct Found<'d, 'p> {
    value: Option<&'d Value>,
    array: Option<&'p str>,
    /// Code 28 where something without such members is in the way.
    blocked: Option<MqlError>,
}

/// Follows a path.
fn find<'d, 'p>(document: &'d Object, path: &'p str) -> Found<'d, 'p> {
    let mut names = path.split('.');
    let mut owner = names.next().unwrap_or_default();
    let mut value = document.get(owner);
    let mut array = None;
    for name in names {
        if let Some(Value::Array(_)) = value {
            array = array.or(Some(owner));
        }
        value = match (value, name.parse::<usize>()) {
            (Some(Value::Object(object)), _) => object.get(name),
            (Some(Value::Array(elements)), Ok(at)) => elements.get(at),
            (Some(other), _) => {
                let shown = show_element(owner, other);
                let message = format!(
                    "cannot use the part ({owner} of {path}) to traverse the element ({{{shown}}})"
                );
                return Found {
                    value: None,
                    array,
                    blocked: Some(MqlError::new(28, message)),
                };
            }
            (None, _) => None,
        };
        owner = name;
    }
    Found {
        value,
        array,
        blocked: None,
    }
}
