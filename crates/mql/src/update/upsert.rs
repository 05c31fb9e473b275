//! Upserts: the document that is made when a filter finds none.

use lapsedb_value::bson::type_name;
use lapsedb_value::{Object, Value};

use super::apply::{Apply, apply_tree};
use super::array_filters::ArrayFilters;
use super::modifiers::Modifier;
use super::tree::Tree;
use super::{Kind, Update, replace};
use crate::filter::{equalities, id_of};
use crate::{MqlError, Result};

pub(super) fn document(update: &Update, filter: &Object, new_id: Value) -> Result<Object> {
    let env = &update.options.env;
    let document = match &update.kind {
        Kind::Replacement(replacement) => {
            replace::under_id(replacement, id_of(filter)?.as_ref(), env)?
        }
        Kind::Pipeline(pipeline) => super::pipeline::upsert(pipeline, base(filter, update)?)?,
        Kind::Operators { tree, filters } => {
            let base = base(filter, update)?;
            let mut apply = Apply::new(env, filters, &base);
            apply.inserting = true;
            let mut document = base.clone();
            apply_tree(tree, &mut document, &mut apply)?;
            document
        }
    };
    let document = id_first(document, new_id);
    if let Some(id) = document.get("_id") {
        check_id(id)?;
    }
    Ok(document)
}

/// What the filter says the document equals, members in the order of their names.
fn base(filter: &Object, update: &Update) -> Result<Object> {
    let mut known = equalities(filter)?;
    known.sort_by(|(a, _), (b, _)| a.cmp(b));
    let (nothing, filters) = (Object::new(), ArrayFilters::default());
    let mut base = Object::new();
    for (path, value) in &known {
        let mut tree = Tree::new();
        let set = Modifier::parse("$set", path, value, &update.options);
        if let Some(set) = set {
            tree.insert(path, set?)?;
        }
        let mut apply = Apply::new(&update.options.env, &filters, &nothing);
        apply.inserting = true;
        apply_tree(&tree, &mut base, &mut apply)?;
    }
    Ok(base)
}

fn id_first(mut document: Object, new_id: Value) -> Object {
    let id = document.remove("_id").unwrap_or(new_id);
    let mut ordered = Object::with_capacity(document.len() + 1);
    ordered.push("_id", id);
    for (name, value) in document {
        ordered.push(name, value);
    }
    ordered
}

/// Code 53 for what cannot identify a document: arrays, patterns, and the absence of a value.
pub fn check_id(id: &Value) -> Result<()> {
    match id {
        Value::Array(_) | Value::Regex { .. } | Value::Undefined => {
            let kind = match id {
                Value::Undefined => "undefined",
                _ => type_name(id),
            };
            Err(MqlError::new(
                53,
                format!("The '_id' value cannot be of type {kind}"),
            ))
        }
        _ => Ok(()),
    }
}
