//! Tells how a pipeline would be run: which documents it reads and how, then stage by stage.

use lapsedb_mql::stages::Pipeline;
use lapsedb_value::{Object, Value};

use super::stage::{Stage, Took, access, number};
use super::{planner, stats};
use crate::documents::aggregate::{Aggregate, leading, start_with};
use crate::documents::fault::Result;
use crate::documents::foreign::Others;
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::pour::Destination;
use crate::documents::rights::check_pipeline;
use crate::documents::work::Work;

/// Documents that pass the stages at once.
const STEP_ROWS: usize = 256;

/// The plan of a pipeline, and what executing it takes, if that is wanted. Nothing is written.
///
/// # Errors
/// When a stage is wrong or fails, its time is up, or the engine fails.
pub async fn explain_pipeline(
    work: &mut Work,
    namespace: &Namespace,
    aggregate: &Aggregate,
    execute: bool,
) -> Result<Object> {
    let language = aggregate.terms.language(work, namespace).await?;
    let mut pipeline = Pipeline::parse(&aggregate.pipeline, &language.options)?;
    check_pipeline(work, namespace, &pipeline)?;
    Destination::of(namespace, &pipeline)?;
    let look = Look::fresh(work, namespace).await?;
    let mut explained = Object::with_capacity(2);
    if pipeline.source().is_some() || pipeline.has_own_documents() {
        explained.push("stages", Value::Array(aggregate.pipeline.clone()));
        return Ok(explained);
    }
    let shown = Leading::of(&aggregate.pipeline);
    let plan = leading(&look, &mut pipeline, &language).await?;
    let (found, sorted, read) = (plan.access, plan.sorted, plan.read);
    let mut took = Took::default();
    if execute && pipeline.out().is_none() && pipeline.merge().is_none() {
        let mut piped = start_with(&look, plan.source, &pipeline, namespace);
        let others = Others::new(&look, &namespace.database, work);
        while !piped.finished {
            work.in_time().await?;
            piped.step(&look, &others, STEP_ROWS).await?;
            while piped.runner.take().is_some() {
                took.returned += 1;
            }
        }
        took.keys = piped.tally.keys + read;
        took.documents = piped.tally.documents;
        took.matched = piped.tally.documents;
    }
    if !shown.rest.is_empty() {
        // What the stages make of them is not what was read.
        took.returned = took.documents;
    }
    let stage = shown.stage(access(&found, &shown.filter, took), sorted, took);
    let mut cursor = Object::with_capacity(2);
    let mut planner = planner(namespace, &shown.filter, &stage);
    if shown.rest.is_empty() {
        planner.insert("optimizedPipeline", true);
    }
    cursor.push("queryPlanner", Value::Object(planner));
    if execute {
        cursor.push("executionStats", Value::Object(stats(&stage, took)));
    }
    if shown.rest.is_empty() {
        return Ok(cursor);
    }
    let mut first = Object::with_capacity(2);
    first.push("$cursor", Value::Object(cursor));
    if execute {
        first.push("nReturned", number(took.returned));
        first.push("executionTimeMillisEstimate", 0);
    }
    let mut stages = vec![Value::Object(first)];
    stages.extend(shown.rest);
    explained.push("stages", Value::Array(stages));
    Ok(explained)
}

/// What a pipeline begins with that a find could do as well, and the stages behind it.
#[derive(Default)]
struct Leading {
    filter: Object,
    sort: Option<Object>,
    skip: u64,
    limit: Option<u64>,
    projection: Option<Object>,
    rest: Vec<Value>,
}

impl Leading {
    fn of(stages: &[Value]) -> Leading {
        let mut leading = Leading::default();
        let mut stages = stages.iter().peekable();
        while let Some((name, spec)) = stages.peek().and_then(|stage| only(stage)) {
            let number = spec.as_i64().map_or(0, i64::unsigned_abs);
            let counted = leading.skip > 0 || leading.limit.is_some();
            match (name, spec) {
                ("$match", Value::Object(filter)) if !counted && leading.projection.is_none() => {
                    leading.restrict(filter);
                }
                ("$sort", Value::Object(sort))
                    if !counted && leading.sort.is_none() && leading.projection.is_none() =>
                {
                    leading.sort = Some(sort.clone());
                }
                ("$skip", _) if leading.limit.is_none() => leading.skip += number,
                ("$limit", _) => {
                    let least = leading.limit.map_or(number, |limit| limit.min(number));
                    leading.limit = Some(least);
                }
                ("$project", Value::Object(fields)) if leading.projection.is_none() => {
                    leading.projection = Some(fields.clone());
                }
                _ => break,
            }
            stages.next();
        }
        leading.rest = stages.cloned().collect();
        leading
    }

    fn restrict(&mut self, filter: &Object) {
        if self.filter.is_empty() {
            self.filter = filter.clone();
            return;
        }
        let both = [std::mem::take(&mut self.filter), filter.clone()];
        let both = both.into_iter().map(Value::Object).collect();
        self.filter.push("$and", Value::Array(both));
    }

    /// The stages of the plan, the last one outermost.
    fn stage(&self, access: Stage, sorted: bool, took: Took) -> Stage {
        let mut stage = access;
        if let Some(sort) = self.sort.as_ref().filter(|_| !sorted) {
            let mut ordered = Stage::new("SORT", took.matched)
                .with("sortPattern", Value::Object(sort.clone()))
                .with(
                    "memLimit",
                    number(crate::documents::sorted::SORT_BYTES_MAX as u64),
                );
            if let Some(limit) = self.limit {
                ordered = ordered.with("limitAmount", number(limit.saturating_add(self.skip)));
            }
            stage = ordered.with("type", "simple").over(stage);
        }
        if self.skip > 0 {
            stage = Stage::new("SKIP", took.returned)
                .with("skipAmount", number(self.skip))
                .over(stage);
        }
        if let Some(fields) = &self.projection {
            stage = super::projection(fields, took.returned).over(stage);
        }
        if let Some(limit) = self.limit.filter(|_| sorted || self.sort.is_none()) {
            stage = Stage::new("LIMIT", took.returned)
                .with("limitAmount", number(limit))
                .over(stage);
        }
        stage
    }
}

/// The name and the argument of a stage.
fn only(stage: &Value) -> Option<(&str, &Value)> {
    let (name, spec) = stage.as_object()?.iter().next()?;
    Some((name.as_str(), spec))
}
