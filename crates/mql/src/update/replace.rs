//! Replacements: a whole new document under the old `_id`.

use lapsedb_value::order::{equal_bson, identical_bson};
use lapsedb_value::{Object, Value};

use super::apply::altered_id;
use super::{Described, Updated};
use crate::expressions::Env;
use crate::{MqlError, Result};

pub(super) fn apply(replacement: &Object, document: &Object, env: &Env) -> Result<Updated> {
    if let Some(name) = replacement.keys().find(|name| name.starts_with('$')) {
        return Err(MqlError::new(
            52,
            format!(
                "The dollar ($) prefixed field '{name}' in '{name}' is not allowed in the context of an update's replacement \
                 document. Consider using an aggregation pipeline with $replaceWith."
            ),
        ));
    }
    let replaced = under_id(replacement, document.get("_id"), env)?;
    // As MongoDB has it, a replacement is the same document only if it says all of it, `_id` in its place.
    let (given, old) = (
        Value::Object(replacement.clone()),
        Value::Object(document.clone()),
    );
    let same = identical_bson(&given, &old);
    Ok(Updated {
        document: replaced,
        modified: !same,
        described: Described::Whole,
    })
}

/// The replacement with `_id` first; its own one must equal the old one.
pub(super) fn under_id(replacement: &Object, id: Option<&Value>, env: &Env) -> Result<Object> {
    let own = replacement.get("_id");
    if let (Some(own), Some(id)) = (own, id)
        && !equal_bson(own, id)
    {
        return Err(altered_id(own));
    }
    let mut replaced = Object::with_capacity(replacement.len() + 1);
    if let Some(id) = own.or(id) {
        replaced.push("_id", id.clone());
    }
    for (name, value) in replacement {
        match value {
            _ if name == "_id" => {}
            // An empty time stamp at the top means the time of the command.
            Value::Timestamp(0) if !env.keeps_empty_stamps() => {
                replaced.push(name.clone(), Value::Timestamp(super::stamp(env)));
            }
            _ => replaced.push(name.clone(), value.clone()),
        }
    }
    Ok(replaced)
}
