//! Views: pipelines over a collection or another view, read as if they were collections.
//!
//! A view stands in the catalog and has no documents. Whoever reads it reads the collection at its end, through all the
//! pipelines on the way, so that nothing dead is ever seen through one.

mod change;
mod graph;
mod make;
mod read;

use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_store::{NamedView, View};
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::language::Terms;
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;

pub use change::change_view;
pub(crate) use make::make_view;
pub(crate) use read::{aggregate, count, documents, filtered, find, under};

/// Views that may stand on one another.
pub(crate) const DEPTH_MAX: usize = 20;
/// The collection that clients know to hold the definitions of a database's views.
pub(crate) const SYSTEM_VIEWS: &str = "system.views";

/// What is read instead of a view.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// The collection at the end.
    pub(crate) base: Namespace,
    /// All pipelines on the way, the innermost first.
    pub(crate) pipeline: Vec<Value>,
    /// How texts compare.
    pub(crate) collation: Option<Object>,
}

/// A view by its name.
pub(crate) fn find_view(view: &View, namespace: &Namespace) -> Option<Arc<NamedView>> {
    let catalog = view.catalog();
    let database = catalog.database(&namespace.database)?;
    catalog
        .view(database.number, &namespace.collection)
        .cloned()
}

/// All views of a database.
pub(crate) fn all(view: &View, database: &str) -> Vec<Arc<NamedView>> {
    let catalog = view.catalog();
    match catalog.database(database) {
        Some(database) => catalog.views(database.number),
        None => Vec::new(),
    }
}

/// Whether a name is a view's.
///
/// # Errors
/// When the engine fails.
pub async fn is_view(work: &Work, namespace: &Namespace) -> Result<bool> {
    Ok(find_view(&work.ctx.view().await?, namespace).is_some())
}

/// Refuses to take a view for a collection.
///
/// # Errors
/// When the name is a view's.
pub(crate) fn refuse(view: &View, namespace: &Namespace) -> Result<()> {
    if find_view(view, namespace).is_some() {
        return Err(Fault::new(
            code::COMMAND_NOT_SUPPORTED_ON_VIEW,
            format!("Namespace {namespace} is a view, not a collection"),
        ));
    }
    if namespace.collection == SYSTEM_VIEWS && !all(view, &namespace.database).is_empty() {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("cannot write to {namespace}"),
        ));
    }
    Ok(())
}

/// What is to be read instead of a view; nothing, if it is none.
///
/// # Errors
/// When too many views stand on one another.
pub(crate) fn resolve(view: &View, namespace: &Namespace) -> Result<Option<Resolved>> {
    let Some(first) = find_view(view, namespace) else {
        return Ok(definitions(view, namespace));
    };
    let mut resolved = Resolved {
        base: namespace.clone(),
        pipeline: Vec::new(),
        collation: first
            .definition
            .get("collation")
            .and_then(Value::as_object)
            .cloned(),
    };
    let mut next = Some(first);
    let mut depth = 0;
    while let Some(found) = next {
        depth += 1;
        if depth > DEPTH_MAX {
            return Err(graph::too_deep());
        }
        let own = pipeline_of(&found);
        resolved.pipeline = [own, &resolved.pipeline].concat();
        resolved.base = Namespace::pseudo(&namespace.database, on(&found));
        next = find_view(view, &resolved.base);
    }
    Ok(Some(resolved))
}

/// The definitions of all views, as documents of a collection.
fn definitions(view: &View, namespace: &Namespace) -> Option<Resolved> {
    if namespace.collection != SYSTEM_VIEWS {
        return None;
    }
    let all = all(view, &namespace.database);
    let documents: Vec<_> = all
        .iter()
        .map(|found| {
            let mut document = Object::with_capacity(4);
            document.push("_id", format!("{}.{}", namespace.database, found.id));
            for (name, value) in found.definition.iter() {
                document.push(name.clone(), value.clone());
            }
            Value::Object(document)
        })
        .collect();
    let mut literal = Object::with_capacity(1);
    literal.push("$literal", Value::Array(documents));
    let mut stage = Object::with_capacity(1);
    stage.push("$documents", Value::Object(literal));
    (!all.is_empty()).then(|| Resolved {
        base: Namespace::pseudo(&namespace.database, "$cmd.aggregate"),
        pipeline: vec![Value::Object(stage)],
        collation: None,
    })
}

/// What is to be read instead of a view, as a command sees it.
///
/// # Errors
/// When too many views stand on one another, or the engine fails.
pub(crate) async fn resolved(work: &Work, namespace: &Namespace) -> Result<Option<Resolved>> {
    match work
        .transaction()
        .and_then(|transaction| transaction.view.as_ref())
    {
        Some(view) => resolve(view, namespace),
        None => resolve(&work.ctx.view().await?, namespace),
    }
}

impl Resolved {
    /// The terms of a command that reads the view: its collation is the view's, whatever the collection's is.
    ///
    /// # Errors
    /// When the command names another.
    pub(crate) fn terms(&self, terms: &Terms) -> Result<Terms> {
        if let Some(own) = &terms.collation
            && Collation::parse(own)? != self.parsed()?
        {
            return Err(Fault::new(
                code::OPTION_NOT_SUPPORTED_ON_VIEW,
                "Cannot override a view's default collation",
            ));
        }
        Ok(Terms {
            collation: Some(self.collation.clone().unwrap_or_else(simple)),
            ..terms.clone()
        })
    }

    /// Its collation, if it has one.
    pub(crate) fn parsed(&self) -> Result<Option<Collation>> {
        parsed(self.collation.as_ref())
    }
}

fn parsed(collation: Option<&Object>) -> Result<Option<Collation>> {
    match collation {
        Some(collation) => Ok(Collation::parse(collation)?),
        None => Ok(None),
    }
}

/// The collation that compares bytes.
fn simple() -> Object {
    let mut simple = Object::with_capacity(1);
    simple.push("locale", "simple");
    simple
}

/// What a view stands on.
fn on(view: &NamedView) -> &str {
    let on = view.definition.get("viewOn").and_then(Value::as_str);
    on.unwrap_or_default()
}

fn pipeline_of(view: &NamedView) -> &[Value] {
    let own = view.definition.get("pipeline").and_then(Value::as_array);
    own.unwrap_or_default()
}
