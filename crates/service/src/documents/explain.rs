//! Tells how documents would be found.

use lapsedb_value::{Object, Value};

use crate::documents::choose::{Choice, choose};
use crate::documents::fault::Result;
use crate::documents::find::Find;
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::views;
use crate::documents::walk::{Source, Walk};
use crate::documents::work::Work;

/// Documents looked at between two looks at the clock.
const STEP_ROWS: usize = 256;

/// The plan of a find, and what executing it took, if that is wanted.
///
/// # Errors
/// When the filter is wrong, its time is up, or the engine fails.
pub async fn explain(
    work: &mut Work,
    namespace: &Namespace,
    find: &Find,
    execute: bool,
) -> Result<Object> {
    let language = find.terms.language(work, namespace).await?;
    let filter = language.filter(&find.filter)?;
    let language = language.behind(&filter);
    let sort = language.sort(&find.sort)?;
    let look = match Look::fresh(work, namespace).await {
        Ok(look) => look,
        Err(fault) => {
            return match views::resolved(work, namespace).await? {
                Some(resolved) => {
                    let base = resolved.base.clone();
                    let under = views::under(&resolved, find)?;
                    Box::pin(explain(work, &base, &under, execute)).await
                }
                None => Err(fault),
            };
        }
    };
    let choice = choose(&look, &language, &filter, &language.hint).await?;
    let keys = choice.index.as_ref().map_or(0, |(_, _, read)| *read);
    let mut stage = plan(&choice, &find.filter, look.collection.is_some());
    let source = choice.source;
    if sort.is_some() {
        let mut sorted = Object::with_capacity(3);
        sorted.push("stage", "SORT");
        sorted.push("sortPattern", Value::Object(find.sort.clone()));
        sorted.push("inputStage", Value::Object(stage));
        stage = sorted;
    }
    let mut planner = Object::with_capacity(5);
    planner.push("namespace", namespace.to_string());
    planner.push("indexFilterSet", false);
    planner.push("parsedQuery", Value::Object(find.filter.clone()));
    planner.push("winningPlan", Value::Object(stage.clone()));
    planner.push("rejectedPlans", Value::Array(Vec::new()));
    let mut explained = Object::with_capacity(2);
    explained.push("queryPlanner", Value::Object(planner));
    if execute {
        let (mut returned, mut examined) = (0u64, 0u64);
        let mut walk = Walk::new(source);
        while !walk.ended() {
            work.in_time()?;
            for row in walk.next(&look, STEP_ROWS).await? {
                examined += 1;
                returned += u64::from(filter.matches(&row.document()?)?);
            }
        }
        returned = returned.saturating_sub(find.skip);
        if find.limit > 0 {
            returned = returned.min(find.limit);
        }
        explained.push(
            "executionStats",
            Value::Object(stats(stage, returned, (keys, examined))),
        );
    }
    Ok(explained)
}

fn plan(choice: &Choice, filter: &Object, there: bool) -> Object {
    let mut stage = Object::with_capacity(4);
    if !there {
        stage.push("stage", "EOF");
        return stage;
    }
    if let Some((name, pattern, _)) = &choice.index {
        return fetch(name, pattern.clone(), filter);
    }
    match &choice.source {
        Source::Everything | Source::Keys(_) => {
            stage.push("stage", "COLLSCAN");
            stage.push("filter", Value::Object(filter.clone()));
            stage.push("direction", "forward");
        }
        Source::Ids(ids) if ids.len() == 1 => stage.push("stage", "IDHACK"),
        Source::Ids(_) => {
            let mut key = Object::with_capacity(1);
            key.push("_id", 1);
            return fetch("_id_", key, filter);
        }
    }
    stage
}

/// Documents that an index names.
fn fetch(name: &str, pattern: Object, filter: &Object) -> Object {
    let mut inner = Object::with_capacity(4);
    inner.push("stage", "IXSCAN");
    inner.push("keyPattern", Value::Object(pattern));
    inner.push("indexName", name);
    inner.push("direction", "forward");
    let mut stage = Object::with_capacity(3);
    stage.push("stage", "FETCH");
    stage.push("filter", Value::Object(filter.clone()));
    stage.push("inputStage", Value::Object(inner));
    stage
}

fn stats(stage: Object, returned: u64, (keys, examined): (u64, u64)) -> Object {
    let number = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
    let mut stats = Object::with_capacity(6);
    stats.push("executionSuccess", true);
    stats.push("nReturned", number(returned));
    stats.push("executionTimeMillis", 0);
    stats.push("totalKeysExamined", number(keys));
    stats.push("totalDocsExamined", number(examined));
    stats.push("executionStages", Value::Object(stage));
    stats.push("allPlansExecution", Value::Array(Vec::new()));
    stats
}
