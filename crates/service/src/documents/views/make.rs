//! Makes a view.

use lapsedb_mql::collation::Collation;
use lapsedb_mql::filter::Options;
use lapsedb_mql::stages::{Pipeline, Source};
use lapsedb_store::catalog::view_body;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{MetaChange, View};
use lapsedb_value::{Object, Value};

use crate::attempts::{Attempts, Numbers};
use crate::ctx::Ctx;
use crate::documents::create::{check_same, check_same_collection};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::make::database_for;
use crate::documents::namespace::Namespace;
use crate::documents::rights::check_view;
use crate::documents::views::{find_view, graph};
use crate::documents::writable::Writable;

/// Stages that no view may have, and why.
const REFUSED_STAGES: [&str; 3] = ["$changeStream", "$merge", "$out"];
/// Views of one database at most.
const VIEWS_MAX: usize = 1000;

/// Makes a view with a definition as the client gave it. One that is there with the same stays as it is.
///
/// # Errors
/// When the name is taken by something else, the definition is wrong, or who asks may not.
pub(crate) async fn make_view(
    ctx: &Ctx,
    target: Writable<'_>,
    on: &str,
    pipeline: Vec<Value>,
    collation: Option<&Object>,
) -> Result<()> {
    ctx.who.may_administer()?;
    let namespace = target.namespace();
    let definition = definition(ctx, namespace, on, pipeline, collation)?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        if is_there(&view, namespace, &definition)? {
            return Ok(());
        }
        let definition = definition.clone();
        graph::check(&view, namespace, &definition)?;
        let mut change = MetaChange::default();
        let mut numbers = Numbers::of(&view);
        let database = database_for(&view, &namespace.database, &mut change, &mut numbers)?;
        if view.catalog().views_in(database) >= VIEWS_MAX {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("There are {VIEWS_MAX} views, which is the most there may be."),
            ));
        }
        let id = namespace.collection.as_str();
        change.put(
            keys::meta_named(MetaKind::View, u64::from(database), id),
            view_body(database, id, None, definition),
        );
        numbers.write(&mut change);
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(());
        }
    }
}

/// Whether the view is there as it is wanted. Refuses a name that is taken by something else.
fn is_there(view: &View, namespace: &Namespace, definition: &Object) -> Result<bool> {
    if let Some(found) = find_view(view, namespace) {
        check_same(namespace, None, &found.definition, definition)?;
        return Ok(true);
    }
    let catalog = view.catalog();
    let collection = catalog
        .database(&namespace.database)
        .and_then(|database| catalog.collection(database.number, &namespace.collection));
    match collection {
        Some(collection) => {
            check_same_collection(namespace, collection, definition)?;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// A definition as it is kept, once everything that can be said against it by itself has been asked, and whether who asks may
/// read what it shows.
pub(super) fn definition(
    ctx: &Ctx,
    namespace: &Namespace,
    on: &str,
    pipeline: Vec<Value>,
    collation: Option<&Object>,
) -> Result<Object> {
    if on.is_empty() {
        return Err(Fault::new(code::BAD_VALUE, "'viewOn' cannot be empty"));
    }
    if Namespace::new(&namespace.database, on).is_err() {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("invalid name for 'viewOn': {on}"),
        ));
    }
    for (at, stage) in pipeline.iter().enumerate() {
        let name = stage.as_object().and_then(|stage| stage.keys().next());
        let name = name.map(|name| name.as_str()).unwrap_or_default();
        let why = match name {
            "$changeStream" => "$changeStream cannot be used in a view definition".to_owned(),
            name if REFUSED_STAGES.contains(&name) => format!(
                "The aggregation stage {name} in location {at} of the pipeline cannot be used in the view definition of {namespace} because it writes to disk"
            ),
            _ => continue,
        };
        return Err(Fault::new(
            code::OPTION_NOT_SUPPORTED_ON_VIEW,
            format!("Invalid pipeline for view {namespace} :: caused by :: {why}"),
        ));
    }
    let parsed = Pipeline::parse(&pipeline, &Options::default()).map_err(|error| {
        Fault::new(
            error.code,
            format!(
                "Invalid pipeline for view {namespace} :: caused by :: {}",
                error.message
            ),
        )
    })?;
    if let Some(Source::CurrentOp(_) | Source::ListSessions { .. }) = parsed.source() {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!(
                "Invalid pipeline for view {namespace} :: caused by :: a view shows documents of a collection, not operations or sessions"
            ),
        ));
    }
    check_view(ctx, &Namespace::pseudo(&namespace.database, on), &parsed)?;
    let mut definition = Object::with_capacity(3);
    definition.push("viewOn", on);
    definition.push("pipeline", Value::Array(pipeline));
    if let Some(collation) = collation
        && let Some(whole) = Collation::parse(collation)?
    {
        definition.push("collation", Value::Object(whole.to_object()));
    }
    Ok(definition)
}
