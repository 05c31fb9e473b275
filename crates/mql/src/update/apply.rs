//! A tree of changes over one document.

use lapsedb_value::{Object, Str, Value};

use super::array_filters::ArrayFilters;
use super::describe::Changes;
use super::modifiers::{Modifier, Outcome};
use super::place::{Place, member, place};
use super::tree::Tree;
use crate::expressions::Env;
use crate::show::{show_element, show_value};
use crate::{MqlError, Result};

/// Elements that may be put between the end of an array and a new one.
const BACKFILL_MAX: usize = 1_500_000;

/// One application of an update.
pub(crate) struct Apply<'a> {
    pub(crate) env: &'a Env,
    pub(crate) filters: &'a ArrayFilters,
    /// The element that the filter found, for `$`.
    pub(crate) matched: Option<usize>,
    /// Whether the document is being made by an upsert.
    pub(crate) inserting: bool,
    /// The document as it was, for messages and for what `$rename` takes.
    pub(crate) original: &'a Object,
    /// Where the walk is.
    path: Vec<Str>,
    pub(crate) changes: Changes,
}

impl<'a> Apply<'a> {
    pub(crate) fn new(env: &'a Env, filters: &'a ArrayFilters, original: &'a Object) -> Apply<'a> {
        Apply {
            env,
            filters,
            matched: None,
            inserting: false,
            original,
            path: Vec::new(),
            changes: Changes::default(),
        }
    }

    /// Where the walk is, with dots.
    pub(crate) fn path(&self) -> String {
        self.path.join(".")
    }

    /// The document's id as messages show it.
    pub(crate) fn id_text(&self) -> String {
        match self.original.get("_id") {
            Some(id) => show_element("_id", id),
            None => "no id".into(),
        }
    }

    /// Changes a value that is there; the outcome is for what holds it.
    pub(crate) fn change(&mut self, tree: &Tree, value: &mut Value) -> Result<Outcome> {
        match tree {
            Tree::Leaf(modifier) => {
                let outcome = modifier.existing(value, self)?;
                self.note(&outcome, value)?;
                Ok(outcome)
            }
            Tree::Members { named, matched } => {
                let matched = matched.as_deref();
                let changed = self.members(named, matched, value)?;
                Ok(changed_if(changed))
            }
            Tree::Elements(filtered) => {
                let changed = self.elements(filtered, value)?;
                Ok(changed_if(changed))
            }
        }
    }

    fn members(
        &mut self,
        named: &[(Str, Tree)],
        matched: Option<&Tree>,
        holder: &mut Value,
    ) -> Result<bool> {
        let Some(matched) = matched else {
            return self.named(named, holder);
        };
        let position = self.matched.ok_or_else(no_match)?;
        let at = Tree::Members {
            named: vec![(Str::from(position.to_string()), matched.clone())],
            matched: None,
        };
        let others = Tree::Members {
            named: named.to_vec(),
            matched: None,
        };
        match others.merged(&at, &self.path())? {
            Tree::Members { named, .. } => self.named(&named, holder),
            Tree::Leaf(_) | Tree::Elements(_) => Ok(false),
        }
    }

    fn named(&mut self, named: &[(Str, Tree)], holder: &mut Value) -> Result<bool> {
        let mut changed = false;
        for (name, tree) in named {
            self.path.push(name.clone());
            let done = match member(holder, name) {
                Some(value) => {
                    let outcome = self.change(tree, value)?;
                    if matches!(outcome, Outcome::Removed) {
                        self.remove(holder, name);
                    }
                    !matches!(outcome, Outcome::Same)
                }
                None => self.missing(tree, name, holder)?,
            };
            self.path.pop();
            changed |= done;
        }
        Ok(changed)
    }

    /// Makes what a change wants to be there, if it wants it.
    fn missing(&mut self, tree: &Tree, name: &str, holder: &mut Value) -> Result<bool> {
        let place = place(holder, name);
        if place == Place::Blocked {
            return self.blocked(tree, name, holder).map(|()| false);
        }
        let Some(value) = self.make(tree)? else {
            return Ok(false);
        };
        self.check_new(name)?;
        self.changes.set(&self.path(), &value);
        match (holder, place) {
            (Value::Object(object), _) => object.push(name, value),
            (Value::Array(elements), Place::Element(at)) => {
                if at.saturating_sub(elements.len()) > BACKFILL_MAX {
                    return Err(MqlError::new(
                        34,
                        format!("can't backfill more than {BACKFILL_MAX} elements"),
                    ));
                }
                elements.resize(at, Value::Null);
                elements.push(value);
            }
            _ => {}
        }
        Ok(true)
    }

    /// What a tree makes of nothing.
    fn make(&mut self, tree: &Tree) -> Result<Option<Value>> {
        match tree {
            Tree::Leaf(modifier) => modifier.missing(self),
            Tree::Elements(_) => Err(self.no_array()),
            Tree::Members { matched, .. } if matched.is_some() && self.matched.is_none() => {
                Err(no_match())
            }
            Tree::Members { named, matched } => {
                let mut object = Object::new();
                for (name, tree) in named {
                    self.path.push(name.clone());
                    if let Some(value) = self.make(tree)? {
                        object.push(name.clone(), value);
                    }
                    self.path.pop();
                }
                if let (Some(tree), Some(position)) = (matched, self.matched)
                    && let Some(value) = self.make(tree)?
                {
                    object.push(position.to_string(), value);
                }
                Ok((!object.is_empty()).then_some(Value::Object(object)))
            }
        }
    }

    /// A scalar, or an array asked for a name, cannot hold what a change speaks of.
    fn blocked(&mut self, tree: &Tree, name: &str, holder: &Value) -> Result<()> {
        let owner = self
            .path
            .len()
            .checked_sub(2)
            .and_then(|at| self.path.get(at));
        let element = show_element(owner.map_or("", |owner| owner.as_str()), holder);
        self.refuse(tree, name, &element)
    }

    /// Says why the first change that minds cannot be made in an element without such a member.
    fn refuse(&mut self, tree: &Tree, name: &str, element: &str) -> Result<()> {
        match tree {
            Tree::Leaf(modifier) if modifier.creates(self)? => Err(MqlError::new(
                28,
                format!("Cannot create field '{name}' in element {{{element}}}"),
            )),
            Tree::Leaf(modifier) if modifier.needs_viable_path() => {
                let path = self.path();
                Err(MqlError::new(
                    28,
                    format!(
                        "Cannot use the part ({name}) of ({path}) to traverse the element ({{{element}}})"
                    ),
                ))
            }
            Tree::Leaf(_) => Ok(()),
            Tree::Elements(_) => Err(self.no_array()),
            Tree::Members { matched, .. } if matched.is_some() && self.matched.is_none() => {
                Err(no_match())
            }
            Tree::Members { named, matched } => {
                for (member, tree) in named {
                    self.path.push(member.clone());
                    self.refuse(tree, name, element)?;
                    self.path.pop();
                }
                match matched {
                    Some(tree) => self.refuse(tree, name, element),
                    None => Ok(()),
                }
            }
        }
    }

    fn no_array(&self) -> MqlError {
        MqlError::bad_value(format!(
            "The path '{}' must exist in the document in order to apply array updates.",
            self.path()
        ))
    }

    fn elements(&mut self, filtered: &[(Str, Tree)], value: &mut Value) -> Result<bool> {
        let Value::Array(elements) = value else {
            let name = self.path.last().map_or("", |name| name.as_str());
            return Err(MqlError::bad_value(format!(
                "Cannot apply array updates to non-array element {}",
                show_element(name, value)
            )));
        };
        let mark = self.changes.mark();
        let mut changed = 0;
        for (at, element) in elements.iter_mut().enumerate() {
            self.path.push(Str::from(at.to_string()));
            if let Some(tree) = self.tree_for(filtered, element)? {
                let outcome = self.change(&tree, element)?;
                if matches!(outcome, Outcome::Removed) {
                    *element = Value::Null;
                    self.changes.set(&self.path(), &Value::Null);
                }
                changed += usize::from(!matches!(outcome, Outcome::Same));
            }
            self.path.pop();
        }
        if changed > 1 {
            // Change streams are told the whole array then, as MongoDB tells it.
            self.changes.back_to(mark);
            self.changes.set(&self.path(), value);
        }
        Ok(changed > 0)
    }

    /// The changes of all filters that an element fulfils.
    fn tree_for(&self, filtered: &[(Str, Tree)], element: &Value) -> Result<Option<Tree>> {
        let mut all: Option<Tree> = None;
        for (identifier, tree) in filtered {
            if identifier.is_empty() || self.filters.matches(identifier, element)? {
                all = Some(match all {
                    None => tree.clone(),
                    Some(others) => others.merged(tree, &self.path())?,
                });
            }
        }
        Ok(all)
    }

    /// Writes down what a leaf did, and guards `_id`.
    fn note(&mut self, outcome: &Outcome, value: &Value) -> Result<()> {
        let path = self.path();
        match outcome {
            Outcome::Same => return Ok(()),
            Outcome::Changed => self.changes.set(&path, value),
            Outcome::Appended(from) => {
                let added = value.as_array().unwrap_or_default().iter();
                for (at, element) in added.enumerate().skip(*from) {
                    self.changes.set(&format!("{path}.{at}"), element);
                }
            }
            // What holds the value knows what becomes of its place.
            Outcome::Removed => {}
        }
        self.guard_id()
    }

    /// Takes a member away; an element becomes null, so that the others keep their places.
    fn remove(&mut self, holder: &mut Value, name: &str) {
        match holder {
            Value::Object(object) => {
                object.remove(name);
                self.changes.remove(&self.path());
            }
            _ => {
                if let Some(element) = member(holder, name) {
                    *element = Value::Null;
                    self.changes.set(&self.path(), &Value::Null);
                }
            }
        }
    }

    fn guard_id(&self) -> Result<()> {
        let is_id = self.path.first().is_some_and(|name| name == "_id");
        match is_id && self.original.contains_key("_id") {
            true => Err(immutable_id(&self.path())),
            false => Ok(()),
        }
    }

    fn check_new(&self, name: &str) -> Result<()> {
        if self.path.len() == 1 && name.starts_with('$') && !self.inserting {
            return Err(MqlError::new(
                52,
                format!(
                    "The dollar ($) prefixed field '{name}' in '{name}' is not allowed in the context of an update's \
                     replacement document. Consider using an aggregation pipeline with $replaceWith."
                ),
            ));
        }
        self.guard_id()
    }
}

/// Code 66 for an update of `_id` or of a part of it.
pub(crate) fn immutable_id(path: &str) -> MqlError {
    MqlError::new(
        66,
        format!("Performing an update on the path '{path}' would modify the immutable field '_id'"),
    )
}

/// Code 66 for a replacement with another `_id`.
pub(crate) fn altered_id(id: &Value) -> MqlError {
    let shown = show_value(id);
    MqlError::new(
        66,
        format!(
            "After applying the update, the (immutable) field '_id' was found to have been altered to _id: {shown}"
        ),
    )
}

fn no_match() -> MqlError {
    MqlError::bad_value("The positional operator did not find the match needed from the query.")
}

fn changed_if(changed: bool) -> Outcome {
    match changed {
        true => Outcome::Changed,
        false => Outcome::Same,
    }
}

/// Applies a whole tree to a document; answers whether it changed.
pub(crate) fn apply_tree(
    tree: &Tree,
    document: &mut Object,
    apply: &mut Apply<'_>,
) -> Result<bool> {
    let mut root = Value::Object(std::mem::take(document));
    let outcome = apply.change(tree, &mut root);
    let mut changed = !matches!(outcome?, Outcome::Same);
    changed |= drop_renamed(tree, &mut root, apply)?;
    *document = root.into_object().unwrap_or_default();
    Ok(changed)
}

/// Takes away what was renamed: its copy is at its new place by now.
fn drop_renamed(tree: &Tree, root: &mut Value, apply: &mut Apply<'_>) -> Result<bool> {
    let mut leaves = Vec::new();
    tree.leaves(&mut leaves);
    let mut any = false;
    for modifier in leaves {
        let Modifier::Rename(rename) = modifier else {
            continue;
        };
        if rename.take(root) {
            if rename.source() == "_id" || rename.source().starts_with("_id.") {
                return Err(immutable_id(rename.source()));
            }
            apply.changes.remove(rename.source());
            any = true;
        }
    }
    Ok(any)
}
