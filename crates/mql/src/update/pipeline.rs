//! Updates that are pipelines: the document is computed from itself.

use lapsedb_value::order::{equal_bson, identical_bson};
use lapsedb_value::{Object, Value};

use super::apply::altered_id;
use super::{Described, Updated};
use crate::Result;
use crate::stages::Pipeline;

pub(super) fn apply(pipeline: &Pipeline, document: &Object) -> Result<Updated> {
    let after = under_id(pipeline.apply(document.clone())?, document.get("_id"))?;
    let (before, after) = (Value::Object(document.clone()), Value::Object(after));
    let same = identical_bson(&before, &after);
    let after = after.into_object().unwrap_or_default();
    Ok(Updated {
        modified: !same,
        described: Described::Difference,
        document: after,
    })
}

/// The document that an upsert makes of what its filter says.
pub(super) fn upsert(pipeline: &Pipeline, base: Object) -> Result<Object> {
    let id = base.get("_id").cloned();
    under_id(pipeline.apply(base)?, id.as_ref())
}

/// The document with `_id` first: its own one must equal the old one, and the old one stays if it has none.
fn under_id(mut document: Object, id: Option<&Value>) -> Result<Object> {
    if let (Some(own), Some(id)) = (document.get("_id"), id)
        && !equal_bson(own, id)
    {
        return Err(altered_id(own));
    }
    if document.keys().next().is_some_and(|name| name == "_id") {
        return Ok(document);
    }
    let mut ordered = Object::with_capacity(document.len() + 1);
    if let Some(id) = document.remove("_id").or(id.cloned()) {
        ordered.push("_id", id);
    }
    for (name, value) in document {
        ordered.push(name, value);
    }
    Ok(ordered)
}
