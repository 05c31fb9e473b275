//! Updates: what a command makes of a document.

mod apply;
mod array_filters;
mod describe;
mod difference;
mod modifiers;
mod pipeline;
mod place;
mod replace;
mod tree;
mod upsert;

use lapsedb_value::bson::type_name;
use lapsedb_value::{Object, Value};

pub use describe::{Described, Description};
pub use upsert::check_id;

use crate::expressions::Env;
use crate::filter::{Match, Options};
use crate::show::{show_object, show_value};
use crate::stages::Pipeline;
use crate::{MqlError, Result};
use apply::{Apply, apply_tree};
use array_filters::ArrayFilters;
use modifiers::Modifier;
use tree::{Step, Tree};

/// An update that has been read and checked.
#[derive(Clone, Debug)]
pub struct Update {
    kind: Kind,
    options: Options,
}

#[derive(Clone, Debug)]
enum Kind {
    Replacement(Object),
    Operators { tree: Tree, filters: ArrayFilters },
    Pipeline(Pipeline),
}

/// A document after an update.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The document; the old one if nothing changed.
    pub document: Object,
    /// Whether it is another one than before; a matched document that stays as it is counts as not modified.
    pub modified: bool,
    /// What changed.
    pub described: Described,
}

impl Update {
    /// Reads a replacement, operators with their array filters, or a pipeline.
    pub fn parse(update: &Value, array_filters: &[Object], options: &Options) -> Result<Update> {
        let kind = match update {
            Value::Object(document) if is_operators(document) => {
                operators(document, array_filters, options)?
            }
            Value::Object(_) if !array_filters.is_empty() => {
                return Err(MqlError::failed_to_parse(
                    "Cannot specify arrayFilters and a replacement update",
                ));
            }
            Value::Object(document) => Kind::Replacement(document.clone()),
            Value::Array(_) if !array_filters.is_empty() => {
                return Err(MqlError::failed_to_parse(
                    "arrayFilters may not be specified for pipeline-style updates",
                ));
            }
            Value::Array(stages) => Kind::Pipeline(Pipeline::parse_update(stages, options)?),
            other => {
                return Err(MqlError::failed_to_parse(format!(
                    "Update argument must be either an object or an array, not {}",
                    type_name(other)
                )));
            }
        };
        Ok(Update {
            kind,
            options: options.clone(),
        })
    }

    /// Whether it replaces whole documents, which an update of many may not.
    pub fn is_replacement(&self) -> bool {
        match &self.kind {
            Kind::Replacement(_) => true,
            Kind::Operators { .. } | Kind::Pipeline(_) => false,
        }
    }

    /// Applies it to a document that a filter found.
    pub fn apply(&self, document: &Object, found: Match) -> Result<Updated> {
        let env = &self.options.env;
        match &self.kind {
            Kind::Replacement(replacement) => replace::apply(replacement, document, env),
            Kind::Pipeline(pipeline) => pipeline::apply(pipeline, document),
            Kind::Operators { tree, filters } => {
                let mut apply = Apply::new(env, filters, document);
                apply.matched = found.position;
                let mut changed = document.clone();
                let modified = apply_tree(tree, &mut changed, &mut apply)?;
                let description = apply.changes.into_description(document, &changed);
                Ok(Updated {
                    document: changed,
                    modified,
                    described: Described::Fields(description),
                })
            }
        }
    }

    /// The document that an upsert makes when its filter finds none; `new_id` is its `_id` unless filter or update say
    /// another one.
    pub fn upsert(&self, filter: &Object, new_id: Value) -> Result<Object> {
        upsert::document(self, filter, new_id)
    }
}

/// The time of the command as a time stamp.
pub(crate) fn stamp(env: &Env) -> u64 {
    let seconds = u64::try_from(env.now() / 1000).unwrap_or_default();
    env.cluster_time().unwrap_or(seconds << 32 | 1)
}

fn is_operators(document: &Object) -> bool {
    document
        .keys()
        .next()
        .is_some_and(|name| name.starts_with('$'))
}

fn operators(document: &Object, array_filters: &[Object], options: &Options) -> Result<Kind> {
    let filters = ArrayFilters::parse(array_filters, options)?;
    let mut tree = Tree::new();
    let mut used = Vec::new();
    for (operator, argument) in document {
        check_operator(operator)?;
        let Value::Object(fields) = argument else {
            return Err(MqlError::failed_to_parse(format!(
                "Modifiers operate on fields but we found type {} instead. For example: {{$mod: {{<field>: ...}}}} not \
                 {{{operator}: {}}}",
                type_name(argument),
                show_value(argument)
            )));
        };
        for (path, argument) in fields {
            tree::steps(path)?;
            insert(&mut tree, operator, path, argument, options)?;
            check_filters(path, &filters, &mut used)?;
        }
    }
    for name in filters.names() {
        if !used.contains(&name) {
            return Err(MqlError::failed_to_parse(format!(
                "The array filter for identifier '{name}' was not used in the update {}",
                show_object(document)
            )));
        }
    }
    Ok(Kind::Operators { tree, filters })
}

fn insert(
    tree: &mut Tree,
    operator: &str,
    path: &str,
    argument: &Value,
    options: &Options,
) -> Result<()> {
    if operator == "$rename" {
        if argument.as_str().is_some() {
            tree.insert(path, Modifier::Reserved)?;
        }
        let (target, rename) = Modifier::rename(path, argument)?;
        return tree.insert(&target, rename);
    }
    match Modifier::parse(operator, path, argument, options) {
        Some(modifier) => tree.insert(path, modifier?),
        None => check_operator(operator),
    }
}

/// Every operator there is, so that an unknown one is refused even without fields.
const OPERATORS: [&str; 15] = [
    "$addToSet",
    "$bit",
    "$currentDate",
    "$inc",
    "$max",
    "$min",
    "$mul",
    "$pop",
    "$pull",
    "$pullAll",
    "$push",
    "$rename",
    "$set",
    "$setOnInsert",
    "$unset",
];

fn check_operator(operator: &str) -> Result<()> {
    match OPERATORS.contains(&operator) {
        true => Ok(()),
        false => Err(MqlError::failed_to_parse(format!(
            "Unknown modifier: {operator}. Expected a valid update modifier or pipeline-style update specified as an array"
        ))),
    }
}

/// Every `$[name]` needs its filter.
fn check_filters<'a>(path: &'a str, filters: &ArrayFilters, used: &mut Vec<&'a str>) -> Result<()> {
    for step in tree::steps(path)? {
        match step {
            Step::Filtered(name) if !name.is_empty() => {
                if !filters.contains(name) {
                    return Err(MqlError::bad_value(format!(
                        "No array filter found for identifier '{name}' in path '{path}'"
                    )));
                }
                used.push(name);
            }
            Step::Filtered(_) | Step::Matched | Step::Name(_) => {}
        }
    }
    Ok(())
}
