//! Tells how documents would be found, and what that takes.

mod pipeline;
mod stage;

use lapsedb_value::{Object, Value};

use crate::cursors::Room;
use crate::documents::fault::Result;
use crate::documents::find::{Find, Planned};
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::plan::Access;
use crate::documents::sorted::{SORT_BYTES_MAX, sorted};
use crate::documents::views;
use crate::documents::work::Work;
use stage::{Stage, Took, access, number, parsed, scan};

pub use pipeline::explain_pipeline;

/// What is done with the documents that are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explains {
    /// They are given.
    Find,
    /// They are counted.
    Count,
    /// Their values at a path are gathered.
    Distinct,
    /// They are changed.
    Update,
    /// They are deleted.
    Delete,
}

/// The plan of a command that looks for documents, and what executing it takes, if that is wanted. Nothing is changed.
///
/// # Errors
/// When the filter is wrong, its time is up, or the engine fails.
pub async fn explain(
    work: &mut Work,
    namespace: &Namespace,
    (explains, find): (Explains, &Find),
    execute: bool,
) -> Result<Object> {
    let language = find.terms.language(work, namespace).await?;
    let look = match Look::fresh(work, namespace).await {
        Ok(look) => look,
        Err(fault) => {
            return match views::resolved(work, namespace).await? {
                Some(resolved) => {
                    let base = resolved.base.clone();
                    let under = views::under(&resolved, find)?;
                    Box::pin(explain(work, &base, (explains, &under), execute)).await
                }
                None => Err(fault),
            };
        }
    };
    if explains == Explains::Count && find.filter.is_empty() && look.collection.is_some() {
        return fast_count(&look, namespace, execute).await;
    }
    let counts = explains == Explains::Count;
    let mut planned = find.plan(&look, &language, counts).await?;
    let took = match execute {
        true => run(work, &look, &mut planned).await?,
        false => Took::default(),
    };
    let took = match &planned.access {
        Access::Index(index) if counts && index.exact => Took {
            documents: 0,
            ..took
        },
        _ => took,
    };
    let stage = stages(explains, find, &planned, took);
    let mut explained = Object::with_capacity(2);
    let planner = planner(namespace, &find.filter, &stage);
    explained.push("queryPlanner", Value::Object(planner));
    if execute {
        let returned = match explains {
            Explains::Find | Explains::Distinct => took.returned,
            Explains::Count | Explains::Update | Explains::Delete => 0,
        };
        let took = Took { returned, ..took };
        explained.push("executionStats", Value::Object(stats(&stage, took)));
    }
    Ok(explained)
}

/// The whole number of documents is known without looking at any.
async fn fast_count(look: &Look<'_>, namespace: &Namespace, execute: bool) -> Result<Object> {
    let counted = match &look.collection {
        Some(collection) if execute => look.view.count(collection).await?,
        Some(_) | None => 0,
    };
    let stage = Stage::new("RECORD_STORE_FAST_COUNT", 0)
        .did("nCounted", counted)
        .did("nSkipped", 0);
    let mut explained = Object::with_capacity(2);
    let planner = planner(namespace, &Object::new(), &stage);
    explained.push("queryPlanner", Value::Object(planner));
    if execute {
        let stats = stats(&stage, Took::default());
        explained.push("executionStats", Value::Object(stats));
    }
    Ok(explained)
}

/// Executes a plan to its end, and gives nothing to anybody.
async fn run(work: &Work, look: &Look<'_>, planned: &mut Planned) -> Result<Took> {
    let mut returned = 0;
    match planned.order.clone() {
        Some(order) => {
            let found = sorted(work, look, &mut planned.query, &order).await?;
            returned += found.len() as u64;
        }
        None => loop {
            let mut room = Room::new(None, work.memory());
            let ended = planned.query.next(work, look, &mut room).await?;
            returned += room.into_documents().0.len() as u64;
            if ended {
                break;
            }
        },
    }
    let tally = planned.query.tally;
    Ok(Took {
        keys: tally.keys + planned.read,
        documents: tally.documents,
        matched: tally.matched,
        returned,
    })
}

/// All stages of a plan, the last one outermost.
fn stages(explains: Explains, find: &Find, planned: &Planned, took: Took) -> Stage {
    let mut stage = access(&planned.access, &find.filter, took);
    if planned.order.is_some() {
        let behind = find.skip.saturating_add(find.limit);
        let mut sort = Stage::new("SORT", took.returned.saturating_add(find.skip))
            .with("sortPattern", Value::Object(find.sort.clone()))
            .with("memLimit", number(SORT_BYTES_MAX as u64));
        if find.limit > 0 {
            sort = sort.with("limitAmount", number(behind));
        }
        stage = sort.with("type", "simple").over(stage);
    }
    if find.skip > 0 {
        stage = Stage::new("SKIP", took.returned)
            .with("skipAmount", number(find.skip))
            .over(stage);
    }
    if find.return_key {
        stage = Stage::new("RETURN_KEY", took.returned).over(stage);
    } else if !find.projection.is_empty() {
        stage = projection(&find.projection, took.returned).over(stage);
    }
    // A sort in memory ends by itself.
    if find.limit > 0 && planned.order.is_none() {
        stage = Stage::new("LIMIT", took.returned)
            .with("limitAmount", number(find.limit))
            .over(stage);
    }
    match explains {
        Explains::Find | Explains::Distinct => stage,
        Explains::Count => {
            let counted = match &planned.access {
                Access::Index(index) if index.exact => scan(index, "COUNT_SCAN", took),
                _ => stage,
            };
            Stage::new("COUNT", 0)
                .did("nCounted", took.returned)
                .did("nSkipped", find.skip)
                .over(counted)
        }
        Explains::Update => Stage::new("UPDATE", 0)
            .did("nMatched", took.returned)
            .did("nWouldModify", took.returned)
            .did("nWouldUpsert", 0)
            .over(stage),
        Explains::Delete => Stage::new("DELETE", 0)
            .did("nWouldDelete", took.returned)
            .over(stage),
    }
}

/// A projection is simple if it only names fields, each to be there or not.
fn projection(projection: &Object, returned: u64) -> Stage {
    let plain = |(name, value): (&lapsedb_value::Str, &Value)| {
        let truth = value.is_number() || value.as_bool().is_some();
        truth && !name.contains('.') && !name.contains('$')
    };
    let name = match projection.iter().all(plain) {
        true => "PROJECTION_SIMPLE",
        false => "PROJECTION_DEFAULT",
    };
    Stage::new(name, returned).with("transformBy", Value::Object(projection.clone()))
}

fn planner(namespace: &Namespace, filter: &Object, stage: &Stage) -> Object {
    let mut planner = Object::with_capacity(8);
    planner.push("namespace", namespace.to_string());
    planner.push("indexFilterSet", false);
    planner.push("parsedQuery", Value::Object(parsed(filter)));
    planner.push("maxIndexedOrSolutionsReached", false);
    planner.push("maxIndexedAndSolutionsReached", false);
    planner.push("maxScansToExplodeReached", false);
    planner.push("winningPlan", Value::Object(stage.shown(false)));
    planner.push("rejectedPlans", Value::Array(Vec::new()));
    planner
}

fn stats(stage: &Stage, took: Took) -> Object {
    let mut stats = Object::with_capacity(7);
    stats.push("executionSuccess", true);
    stats.push("nReturned", number(took.returned));
    stats.push("executionTimeMillis", 0);
    stats.push("totalKeysExamined", number(took.keys));
    stats.push("totalDocsExamined", number(took.documents));
    stats.push("executionStages", Value::Object(stage.shown(true)));
    stats.push("allPlansExecution", Value::Array(Vec::new()));
    stats
}
