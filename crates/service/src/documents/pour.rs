//! What a pipeline makes goes into a collection: in place of all it has, or document by document.

use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_mql::filter::Options;
use lapsedb_mql::stages::{Merge, Out, Pipeline, WhenMatched, WhenNotMatched};
use lapsedb_mql::update::{Described, Description, Updated};
use lapsedb_store::Collection;
use lapsedb_store::index::named::NamedIndex;
use lapsedb_value::order::{equal_bson, identical_bson};
use lapsedb_value::{Object, Value};

use crate::documents::create::time_series_options;
use crate::documents::drop::drop_collection;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::{DocumentId, ID};
use crate::documents::insert::{Insert, insert};
use crate::documents::kept::{cap_of, is_time_series, options_of};
use crate::documents::language::{Filter, Language};
use crate::documents::look::{Look, find_collection, not_foreign};
use crate::documents::make::make;
use crate::documents::namespace::Namespace;
use crate::documents::plan::collation_of;
use crate::documents::prepare;
use crate::documents::rename::{like, rename};
use crate::documents::shell;
use crate::documents::update::replace;
use crate::documents::work::Work;
use crate::documents::writable::Writable;
use crate::documents::writing::{Tries, Writing};

/// Documents merged in one commit.
const CHUNK_DOCUMENTS: usize = 200;
/// Code of a merge that met a document where it may not.
const MERGE_STAGE_NO_MATCHING_DOCUMENT: i32 = 13_113;

/// Code of a merge by fields that no unique index is over.
const NO_UNIQUE_INDEX: i32 = 51_183;

/// Codes of an `$out` to a collection that is no time series, or one with other options.
const NOT_A_TIME_SERIES: i32 = 7_268_700;
const OTHER_TIME_SERIES: i32 = 7_406_103;

/// How a pipeline writes.
enum Way<'p> {
    Out(&'p Out),
    Merge(&'p Merge),
}

/// Where a pipeline writes to, and how.
pub(crate) struct Destination<'p> {
    target: Namespace,
    way: Way<'p>,
}

impl<'p> Destination<'p> {
    /// That of a pipeline over a collection, if it writes.
    ///
    /// # Errors
    /// When the name is not allowed, or reserved.
    pub(crate) fn of(from: &Namespace, pipeline: &'p Pipeline) -> Result<Option<Destination<'p>>> {
        let named = |database: Option<&str>, collection: &str| {
            Namespace::new(database.unwrap_or(&from.database), collection)
        };
        let (target, way) = match (pipeline.out(), pipeline.merge()) {
            (Some(out), _) => {
                let target = named(out.database.as_deref(), &out.collection)?;
                Writable::for_out(&target)?;
                (target, Way::Out(out))
            }
            (None, Some(plan)) => {
                let target = named(plan.database.as_deref(), &plan.collection)?;
                Writable::for_merge(&target)?;
                (target, Way::Merge(plan))
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(Destination { target, way }))
    }

    /// Writes what the pipeline has made.
    ///
    /// # Errors
    /// When it does not fit there, the time is up, or the engine fails.
    pub(crate) async fn write(
        &self,
        work: &Work,
        documents: Vec<Object>,
        language: &Language,
    ) -> Result<()> {
        match self.way {
            Way::Out(out) => replace_by(work, &self.target, out, documents).await,
            Way::Merge(plan) => {
                let target = Writable::for_merge(&self.target)?;
                merge(work, target, plan, documents, language).await
            }
        }
    }
}

/// Puts documents in the place of all that a collection has. It is filled under another name first: nobody sees half of it.
async fn replace_by(
    work: &Work,
    target: &Namespace,
    out: &Out,
    documents: Vec<Object>,
) -> Result<()> {
    let name = format!("tmp.agg_out.{}", uuid::Uuid::new_v4());
    let filled = Namespace::new(&target.database, &name)?;
    let mut own = Work::new(work.ctx.clone())
        .ending_with(work)
        .bypassing_validation(work.bypasses_validation());
    let seen = own.ctx.view().await?;
    if find_collection(&seen, target).is_some_and(|target| cap_of(&target).is_some()) {
        return Err(Fault::new(
            17_152,
            format!("namespace '{target}' is capped so it can't be used for $out"),
        ));
    }
    not_foreign(&seen, target)?;
    match (&out.timeseries, find_collection(&seen, target)) {
        (Some(series), None) => {
            let options = time_series_options(target, series)?;
            make(&own.ctx, Writable::for_documents(&filled)?, &options).await?;
        }
        (Some(series), Some(there)) => {
            check_series(target, &there, series)?;
            like(&mut own, target, &filled).await?;
        }
        (None, _) => like(&mut own, target, &filled).await?,
    }
    drop(seen);
    let done = fill(&mut own, &filled, documents).await;
    if let Err(fault) = done {
        drop_collection(&mut own, &filled).await?;
        return Err(fault);
    }
    rename(&mut own, &filled, target, true).await
}

/// Refuses to make a collection a time series that is none, or is another one.
fn check_series(target: &Namespace, there: &Collection, series: &Object) -> Result<()> {
    let wanted = time_series_options(target, series)?;
    let own = options_of(there).and_then(|options| options.get("timeseries"));
    let Some(own) = own else {
        return Err(Fault::new(
            NOT_A_TIME_SERIES,
            "Cannot create a time-series collection from a non time-series collection.",
        ));
    };
    let wanted = wanted.get("timeseries").unwrap_or(Value::undefined());
    if equal_bson(own, wanted) {
        return Ok(());
    }
    let [received, found] = [wanted, own].map(shell::text);
    Err(Fault::new(
        OTHER_TIME_SERIES,
        format!(
            "Time-series options inputted must match the existing time-series collection. Received: {received} Found: {found}"
        ),
    ))
}

async fn fill(work: &mut Work, namespace: &Namespace, documents: Vec<Object>) -> Result<()> {
    if documents.is_empty() {
        return Ok(());
    }
    let all = Insert {
        documents: documents.into_iter().map(Into::into).collect(),
        ordered: true,
    };
    let wrote = insert(work, namespace, all).await?;
    match wrote.faults.into_iter().next() {
        Some(failed) => Err(failed.fault),
        None => Ok(()),
    }
}

/// Merges documents into a collection.
async fn merge(
    work: &Work,
    target: Writable<'_>,
    plan: &Merge,
    documents: Vec<Object>,
    language: &Language,
) -> Result<()> {
    let mut own = Work::new(work.ctx.clone())
        .ending_with(work)
        .bypassing_validation(work.bypasses_validation());
    check_fields(&own, &target, plan, language).await?;
    let now = work.ctx.service().clock().now();
    let mut rest = documents.as_slice();
    while !rest.is_empty() {
        let mut tries = Tries::default();
        loop {
            work.in_time().await?;
            let look = Look::fresh(&own, target.namespace()).await?;
            let Some(collection) = look.collection.clone() else {
                drop(look);
                own.make(target).await?;
                continue;
            };
            not_a_time_series(target.namespace(), &collection)?;
            let mut writing = Writing::on(&look, &collection, target).await?;
            let (mut done, mut count) = (Ok(()), 0);
            for document in rest.iter().take(CHUNK_DOCUMENTS) {
                if writing.is_full() {
                    break;
                }
                let merged =
                    Merged::of(document, plan, |document| prepare::prepare(document, now))?;
                match one(&own, &look, (plan, language), &mut writing, merged).await {
                    Ok(()) => count += 1,
                    // It may have met one that was merged before it, which is found once that is committed.
                    Err(fault) if fault.code() == Some(code::DUPLICATE_KEY) && count > 0 => break,
                    Err(fault) => {
                        done = Err(fault);
                        break;
                    }
                }
            }
            let charge = writing.charge();
            match done {
                Err(fault) if fault.is_again() => {}
                done => {
                    done?;
                    if writing.commit(&own, None, &[]).await? {
                        look.spend(&own.ctx, charge);
                        rest = rest.get(count..).unwrap_or_default();
                        break;
                    }
                }
            }
            tries.again().await?;
        }
    }
    Ok(())
}

/// Refuses fields by which several documents of the target could be the same one: a unique index must be over just these, and
/// compare texts as the pipeline does.
async fn check_fields(
    work: &Work,
    target: &Namespace,
    plan: &Merge,
    language: &Language,
) -> Result<()> {
    if plan.on.is_empty() {
        return Ok(());
    }
    let wanted = language.options.collation.as_deref();
    let view = work.ctx.view().await?;
    let collection = find_collection(&view, target);
    let tells = |index: &NamedIndex| {
        index.unique
            && index.whole
            && index.filter.is_none()
            && index.parts.len() == plan.on.len()
            && plan
                .on
                .iter()
                .all(|name| index.parts.iter().any(|part| part.path == *name))
    };
    if is_by_id(plan) {
        // A collection that is yet to be made has no other documents.
        let Some(collection) = &collection else {
            return Ok(());
        };
        let own = options_of(collection).and_then(|options| options.get("collation")?.as_object());
        let own = own.map(Collation::parse).transpose()?.flatten();
        if own.as_ref() == wanted {
            return Ok(());
        }
    }
    for index in collection.iter().flat_map(|found| found.indexes.all()) {
        if tells(index) && collation_of(index)?.as_deref() == wanted {
            return Ok(());
        }
    }
    Err(Fault::new(
        NO_UNIQUE_INDEX,
        "Cannot find index to verify that join fields will be unique",
    ))
}

/// Whether documents are told apart by their `_id` alone.
fn is_by_id(plan: &Merge) -> bool {
    plan.on.iter().all(|name| name == ID)
}

/// Refuses to merge into a time series, whose documents nobody tells apart.
fn not_a_time_series(target: &Namespace, collection: &Collection) -> Result<()> {
    match is_time_series(collection) {
        false => Ok(()),
        true => Err(Fault::new(
            code::COMMAND_NOT_SUPPORTED_ON_VIEW,
            format!("Namespace {target} is a timeseries collection"),
        )),
    }
}

/// A document that is merged.
struct Merged {
    document: Object,
    /// Whether it came with an `_id`, which none that is there can be given.
    is_named: bool,
}

impl Merged {
    fn of(
        document: &Object,
        plan: &Merge,
        prepare: impl FnOnce(Object) -> Result<Object>,
    ) -> Result<Merged> {
        let is_named = document.contains_key(ID);
        if is_named && is_by_id(plan) {
            key_value(document, ID)?;
        }
        Ok(Merged {
            document: prepare(document.clone())?,
            is_named,
        })
    }

    /// The document, unless it would give the one that is there another `_id`.
    fn in_place_of(self, old: &Object, same: fn(&Value, &Value) -> bool) -> Result<Object> {
        let keeps = match (self.document.get(ID), old.get(ID)) {
            (Some(new), Some(old)) => same(new, old),
            _ => true,
        };
        match self.is_named && !keeps {
            false => Ok(self.document),
            true => Err(Fault::new(
                code::IMMUTABLE_FIELD,
                "$merge failed to update the matching document, did you attempt to modify the _id or the shard key?",
            )),
        }
    }
}

async fn one(
    work: &Work,
    look: &Look<'_>,
    (plan, language): (&Merge, &Language),
    writing: &mut Writing<'_>,
    merged: Merged,
) -> Result<()> {
    let found = existing(work, look, (plan, language), writing, &merged.document).await?;
    // What sets fields leaves empty time stamps as they are, see `prepare::stamped`.
    let stamp = match plan.when_matched {
        WhenMatched::KeepExisting | WhenMatched::Merge => None,
        WhenMatched::Fail | WhenMatched::Replace | WhenMatched::Pipeline { .. } => {
            work.stamp_for_empty()
        }
    };
    let Some(old) = found else {
        return match plan.when_not_matched {
            WhenNotMatched::Insert => {
                let new = prepare::stamped(merged.document, stamp);
                writing.insert(new).await
            }
            WhenNotMatched::Discard => Ok(()),
            WhenNotMatched::Fail => Err(Fault::new(
                MERGE_STAGE_NO_MATCHING_DOCUMENT,
                "$merge could not find a matching document in the target collection for at least one document in the source collection",
            )),
        };
    };
    let mut described = Described::Difference;
    let document = match &plan.when_matched {
        WhenMatched::KeepExisting => return Ok(()),
        WhenMatched::Fail => {
            let new = prepare::stamped(merged.document, stamp);
            return writing.insert(new).await;
        }
        WhenMatched::Replace => {
            described = Described::Whole;
            let new = merged.in_place_of(&old, equal_bson)?;
            with_id(prepare::stamped(new, stamp), &old)
        }
        WhenMatched::Merge => {
            let mut new = old.clone();
            for (name, value) in merged.in_place_of(&old, identical_bson)? {
                if name != ID {
                    new.insert(name, value);
                }
            }
            described = Described::Fields(Description::of_members(&old, &new));
            new
        }
        WhenMatched::Pipeline { stages, variables } => {
            piped(language, stages, variables, &merged.document, &old)?
        }
    };
    if identical_bson(
        &Value::Object(old.clone()),
        &Value::Object(document.clone()),
    ) {
        return Ok(());
    }
    let updated = Updated {
        document,
        modified: true,
        described,
    };
    replace(writing, (DocumentId::of_document(&old), &old), updated).await
}

/// The document in the target that is the same by the fields that tell.
async fn existing(
    work: &Work,
    look: &Look<'_>,
    (plan, language): (&Merge, &Language),
    writing: &mut Writing<'_>,
    document: &Object,
) -> Result<Option<Object>> {
    if is_by_id(plan) {
        return writing.get(&DocumentId::of_document(document)).await;
    }
    let mut filter = Object::with_capacity(plan.on.len());
    for name in &plan.on {
        let value = key_value(document, name)?;
        let mut equal = Object::with_capacity(1);
        equal.push("$eq", value.clone());
        filter.push(name.as_str(), Value::Object(equal));
    }
    let filter: Filter = language.filter(&filter)?;
    let mut walk = language.walk(look, &filter).await?;
    while !walk.ended() {
        work.in_time().await?;
        for row in walk.next(look, CHUNK_DOCUMENTS).await? {
            let found = row.document()?;
            if !filter.matches(&found)? {
                continue;
            }
            // One that was merged before may have changed it.
            let now = writing.get(&DocumentId::of_document(&found)).await?;
            if let Some(now) = now
                && filter.matches(&now)?
            {
                return Ok(Some(now));
            }
        }
    }
    Ok(None)
}

/// The value of a field that tells which document is meant.
fn key_value<'a>(document: &'a Object, field: &str) -> Result<&'a Value> {
    let mut steps = field.split('.');
    let first = steps.next().and_then(|name| document.get(name));
    let value = steps.fold(first, |value, name| value?.as_object()?.get(name));
    match value {
        Some(Value::Array(_)) => Err(Fault::new(
            51_185,
            format!("$merge write error: 'on' field '{field}' is an array"),
        )),
        Some(value) if !value.is_null() && !value.is_undefined() => Ok(value),
        _ => Err(Fault::new(
            51_132,
            format!(
                "$merge write error: 'on' field '{field}' cannot be missing, null, undefined or an array"
            ),
        )),
    }
}

/// A new document with the `_id` of the old one.
fn with_id(mut document: Object, old: &Object) -> Object {
    document.remove(ID);
    let mut first = Object::with_capacity(document.len() + 1);
    first.push(ID, old.get(ID).cloned().unwrap_or(Value::Null));
    for (name, value) in document {
        first.push(name, value);
    }
    first
}

/// What a pipeline makes of the document that is there.
fn piped(
    language: &Language,
    stages: &[Value],
    variables: &Object,
    document: &Object,
    old: &Object,
) -> Result<Object> {
    let mut own = vec![("new".into(), Value::Object(document.clone()))];
    for (name, expression) in variables.iter() {
        own.push((name.clone(), computed(language, expression, document)?));
    }
    let options = Options {
        collation: language.options.collation.clone(),
        env: Arc::new(language.options.env.nested(own)),
        ..Options::default()
    };
    let made = Pipeline::parse_update(stages, &options)?.apply(old.clone())?;
    prepare::check(&made)?;
    Ok(made)
}

/// The value of an expression over a document.
fn computed(language: &Language, expression: &Value, document: &Object) -> Result<Value> {
    let mut shape = Object::with_capacity(1);
    shape.push("value", expression.clone());
    let mut stage = Object::with_capacity(1);
    stage.push("$replaceWith", Value::Object(shape));
    let made = Pipeline::parse_update(&[Value::Object(stage)], &language.options)?;
    let mut made = made.apply(document.clone())?;
    Ok(made.remove("value").unwrap_or(Value::Null))
}
