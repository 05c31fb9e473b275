//! Reads through a view: every command becomes a pipeline behind the view's own.

use lapsedb_mql::stages::Pipeline;
use lapsedb_value::budget::Held;
use lapsedb_value::{Object, Value};

use crate::cursors::Batch;
use crate::documents::aggregate::{self, Aggregate};
use crate::documents::count::Count;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::find::Find;
use crate::documents::language::Terms;
use crate::documents::namespace::Namespace;
use crate::documents::views::Resolved;
use crate::documents::work::Work;

/// Stages that ask of a collection itself.
const OF_COLLECTIONS: [&str; 2] = ["$changeStream", "$collStats"];

/// Runs a pipeline behind the view's.
///
/// # Errors
/// As the pipeline; when it asks of a collection itself.
pub(crate) async fn aggregate(
    work: &mut Work,
    namespace: &Namespace,
    resolved: &Resolved,
    asked: &Aggregate,
) -> Result<Batch> {
    let first = asked.pipeline.first().and_then(Value::as_object);
    if let Some(Value::Object(stream)) = first.and_then(|stage| stage.get("$changeStream")) {
        // What is wrong with the stream itself, or with following a name of the server's own, comes first.
        crate::changes::check(namespace, stream)?;
    }
    if first.is_some_and(|stage| OF_COLLECTIONS.iter().any(|name| stage.contains_key(name))) {
        return Err(Fault::new(
            code::COMMAND_NOT_SUPPORTED_ON_VIEW,
            format!("Namespace {namespace} is a view, not a collection"),
        ));
    }
    let through = Aggregate {
        pipeline: [resolved.pipeline.as_slice(), &asked.pipeline].concat(),
        terms: resolved.terms(&asked.terms)?,
        ..asked.clone()
    };
    let of_view = resolved.pipeline.len();
    aggregate::run(work, (namespace, &resolved.base), &through, of_view).await
}

/// Finds documents that a view shows.
///
/// # Errors
/// As the pipeline; when an option is named that only collections have.
pub(crate) async fn find(
    work: &mut Work,
    namespace: &Namespace,
    resolved: &Resolved,
    find: &Find,
) -> Result<Batch> {
    if find.no_timeout {
        return Err(no_option("noCursorTimeout"));
    }
    if find.tail.is_some() {
        return Err(Fault::new(
            code::INVALID_PIPELINE_OPERATOR,
            "Tailable cursors are not supported in aggregation.",
        ));
    }
    let mut pipeline = filtered(&find.filter);
    let sort = |stage: &mut Vec<Value>, sort: &Object| {
        if !sort.is_empty() {
            stage.push(stage_of("$sort", Value::Object(sort.clone())));
        }
    };
    match find.sort.get("$natural").and_then(Value::as_i64) {
        Some(1) => {}
        Some(_) => return Err(no_option("sort: {$natural: -1}")),
        None => sort(&mut pipeline, &find.sort),
    }
    pipeline.extend(part(find.skip, find.limit));
    if !find.projection.is_empty() {
        pipeline.push(stage_of("$project", Value::Object(find.projection.clone())));
    }
    let asked = Aggregate {
        pipeline,
        batch_size: find.batch_size,
        terms: find.terms.clone(),
        single_batch: find.single_batch,
    };
    aggregate(work, namespace, resolved, &asked).await
}

/// What is looked for in the collection under a view: the filters that its pipeline begins with, and the command's own, if
/// nothing stands between.
///
/// # Errors
/// When the command names another collation.
pub(crate) fn under(resolved: &Resolved, find: &Find) -> Result<Find> {
    let leading = |stage: &Value| {
        let stage = stage.as_object()?;
        stage.get("$match")?.as_object().cloned()
    };
    let mut filters: Vec<Value> = resolved
        .pipeline
        .iter()
        .map_while(leading)
        .map(Value::Object)
        .collect();
    if filters.len() == resolved.pipeline.len() && !find.filter.is_empty() {
        filters.push(Value::Object(find.filter.clone()));
    }
    let filter = match (filters.len(), filters.pop()) {
        (1, Some(Value::Object(only))) => only,
        (_, None) => Object::new(),
        (_, Some(last)) => {
            filters.push(last);
            let mut all = Object::with_capacity(1);
            all.push("$and", Value::Array(filters));
            all
        }
    };
    Ok(Find {
        filter,
        terms: resolved.terms(&find.terms)?,
        ..Find::default()
    })
}

/// Counts documents that a view shows.
///
/// # Errors
/// As the pipeline.
pub(crate) async fn count(work: &mut Work, resolved: &Resolved, count: &Count) -> Result<u64> {
    let mut stages = filtered(&count.filter);
    stages.extend(part(count.skip, count.limit));
    stages.push(stage_of("$count", Value::from("n")));
    let (counted, _held) = documents(work, resolved, &stages, &count.terms).await?;
    let n = counted.first().and_then(|one| one.get("n")?.as_i64());
    Ok(n.map_or(0, i64::unsigned_abs))
}

/// All that further stages make of what a view shows, and what counts it.
///
/// # Errors
/// As the pipeline.
pub(crate) async fn documents(
    work: &Work,
    resolved: &Resolved,
    stages: &[Value],
    terms: &Terms,
) -> Result<(Vec<Object>, Held)> {
    let terms = resolved.terms(terms)?;
    let language = terms.language(work, &resolved.base).await?;
    let stages = [resolved.pipeline.as_slice(), stages].concat();
    let pipeline = Pipeline::parse(&stages, &language.options)?;
    aggregate::all(work, &resolved.base, &pipeline, &language).await
}

/// A stage that lets pass what matches.
pub(crate) fn filtered(filter: &Object) -> Vec<Value> {
    match filter.is_empty() {
        true => Vec::new(),
        false => vec![stage_of("$match", Value::Object(filter.clone()))],
    }
}

/// Stages that pass some over and let so many pass; 0 means all.
fn part(skip: u64, limit: u64) -> Vec<Value> {
    let number = |n: u64| Value::Int64(i64::try_from(n).unwrap_or(i64::MAX));
    let mut stages = Vec::with_capacity(2);
    if skip > 0 {
        stages.push(stage_of("$skip", number(skip)));
    }
    if limit > 0 {
        stages.push(stage_of("$limit", number(limit)));
    }
    stages
}

fn stage_of(name: &str, argument: Value) -> Value {
    let mut stage = Object::with_capacity(1);
    stage.push(name, argument);
    Value::Object(stage)
}

fn no_option(name: &str) -> Fault {
    Fault::new(
        code::INVALID_PIPELINE_OPERATOR,
        format!("Option {name} not supported in aggregation."),
    )
}
