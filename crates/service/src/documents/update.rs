//! Updates documents.

use lapsedb_mql::stages::Pipeline;
use lapsedb_mql::update::{Update, Updated};
use lapsedb_value::{Object, Value};

use crate::documents::WRITES_MAX;
use crate::documents::delete::{CHUNK_DOCUMENTS, not_retryable};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::{self, DocumentId, ID};
use crate::documents::insert::batch_size;
use crate::documents::language::{Filter, Language, Match, Terms};
use crate::documents::look::{Look, not_foreign};
use crate::documents::namespace::Namespace;
use crate::documents::object_id;
use crate::documents::prepare;
use crate::documents::walk::Walk;
use crate::documents::work::Work;
use crate::documents::writable::Writable;
use crate::documents::writing::{Tries, WriteFault, Writing, Wrote};

/// Code of constants in an update that is no pipeline.
const CONSTANTS_WITHOUT_PIPELINE: i32 = 51_198;

/// One statement.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which documents.
    pub filter: Object,
    /// What becomes of them: a replacement, operators or a pipeline.
    pub update: Value,
    /// All that match, not only the first.
    pub many: bool,
    /// Makes a document, if none matches.
    pub upsert: bool,
    /// What is made if none matches is the constant `new`, whatever the update says.
    pub supplied: bool,
    /// Which elements of arrays are meant.
    pub array_filters: Vec<Object>,
    /// How texts compare and which variables there are.
    pub terms: Terms,
}

/// A statement, read.
pub(crate) struct Plan {
    pub(crate) language: Language,
    pub(crate) filter: Filter,
    pub(crate) update: Update,
}

impl Plan {
    /// A way through the documents that are to be changed.
    async fn way(&self, look: &Look<'_>, many: bool) -> Result<Walk> {
        self.language.walk_for(look, &self.filter, many).await
    }
}

impl Change {
    /// Refuses a pipeline with a stage that there is not: the command fails then, and not its statement alone.
    fn check_names(&self) -> Result<()> {
        match &self.update {
            Value::Array(stages) => Ok(Pipeline::check_names(stages)?),
            _ => Ok(()),
        }
    }

    /// Refuses constants where no pipeline could read them, and an upsert of a constant that is not there.
    fn check_constants(&self) -> Result<()> {
        let parse = |message| Fault::new(code::FAILED_TO_PARSE, message);
        if self.supplied && !self.upsert {
            return Err(parse(
                "cannot specify 'upsertSupplied: true' for a non-upsert operation",
            ));
        }
        if self.supplied && self.supplied_document().is_none() {
            return Err(parse(
                "the parameter 'upsertSupplied' is set to 'true', but no document was supplied",
            ));
        }
        if self.terms.constants.is_some() && !matches!(self.update, Value::Array(_)) {
            return Err(Fault::new(
                CONSTANTS_WITHOUT_PIPELINE,
                "Constant values may only be specified for pipeline updates",
            ));
        }
        Ok(())
    }

    fn supplied_document(&self) -> Option<&Value> {
        let new = self.terms.constants.as_ref()?.get("new");
        new.filter(|new| matches!(new, Value::Object(_)))
    }

    pub(crate) async fn plan(&self, work: &Work, namespace: &Namespace) -> Result<Plan> {
        self.check_constants()?;
        let language = self.terms.language(work, namespace).await?;
        // Of two mistakes, the one in the update is told, as MongoDB does.
        let update = Update::parse(&self.update, &self.array_filters, &language.options)?;
        let filter = language.filter(&self.filter)?;
        if self.many && update.is_replacement() {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                "multi update is not supported for replacement-style update",
            ));
        }
        if self.many && work.is_retryable() {
            return Err(not_retryable("multi=true"));
        }
        Ok(Plan {
            language,
            filter,
            update,
        })
    }

    /// The document that is made because none matches.
    pub(crate) fn made(&self, plan: &Plan, work: &Work) -> Result<Object> {
        let service = work.ctx.service();
        let now = service.clock().now();
        let id = Value::ObjectId(object_id(now));
        let made = match self.supplied_document().filter(|_| self.supplied) {
            Some(new) => {
                Update::parse(new, &[], &plan.language.options)?.upsert(&self.filter, id)?
            }
            None => plan.update.upsert(&self.filter, id)?,
        };
        prepare::prepare(made, now)
    }
}

/// Updates documents, a statement after the other.
///
/// # Errors
/// When there are no statements or too many, who asks may not, or the engine fails.
pub async fn update(
    work: &mut Work,
    namespace: &Namespace,
    statements: &[Change],
    ordered: bool,
) -> Result<Wrote> {
    work.ctx.who.may_write_at_all()?;
    if statements.is_empty() || statements.len() > WRITES_MAX {
        return Err(batch_size(statements.len()));
    }
    let target = Writable::for_documents(namespace)?;
    let mut wrote = Wrote::default();
    for (index, statement) in statements.iter().enumerate() {
        match one(work, target, (index, statement), &mut wrote).await {
            Ok(()) => {}
            Err(fault) => {
                wrote.faults.push(WriteFault { index, fault });
                if ordered || work.transaction().is_some() {
                    break;
                }
            }
        }
    }
    // The command fails, whatever became of its other statements, as in MongoDB.
    statements.iter().try_for_each(Change::check_names)?;
    Ok(wrote)
}

/// What one stretch of a statement has done.
#[derive(Default)]
struct Stretch {
    matched: u64,
    modified: u64,
    upserted: Option<Value>,
    /// Why it went no further.
    failed: Option<Fault>,
}

async fn one(
    work: &mut Work,
    target: Writable<'_>,
    (index, statement): (usize, &Change),
    wrote: &mut Wrote,
) -> Result<()> {
    let namespace = target.namespace();
    let plan = statement.plan(work, namespace).await?;
    let mut walk: Option<Walk> = None;
    let mut tries = Tries::default();
    let mut all = Stretch::default();
    loop {
        work.in_time().await?;
        let look = Look::fresh(work, namespace).await?;
        let Some(collection) = look.collection.clone() else {
            not_foreign(&look.view, namespace)?;
            drop(look);
            if !statement.upsert {
                return Ok(());
            }
            work.make(target).await?;
            continue;
        };
        let retry = work.retry_in(&look.view).await?;
        let number = retry.as_ref().map(|retry| retry.statement(index));
        if let (Some(retry), Some(number)) = (&retry, number)
            && let Some(done) = retry.executed(&look.view, number).await?
        {
            repeat(&done, index, wrote);
            wrote.retried.push(number);
            return Ok(());
        }
        let mut way = match &walk {
            Some(walk) => walk.clone(),
            None => plan.way(&look, statement.many).await?,
        };
        let mut writing = Writing::on(&look, &collection, target).await?;
        let mut done = stretch(work, &look, (statement, &plan), &mut way, &mut writing).await?;
        if let Some(fault) = done.failed.take_if(|_| work.in_transaction()) {
            return Err(fault);
        }
        let none = all.matched + done.matched == 0 && done.failed.is_none();
        if statement.upsert && none && way.ended() {
            done = upsert(work, (statement, &plan), &mut writing).await?;
        }
        let charge = writing.charge();
        let executed = Vec::from_iter(number.map(|number| (number, noted(&done))));
        let again = done.failed.as_ref().is_some_and(Fault::is_again);
        if again || !writing.commit(work, retry.as_ref(), &executed).await? {
            tries.again().await?;
            continue;
        }
        look.spend(&work.ctx, charge);
        all.matched += done.matched;
        all.modified += done.modified;
        if let Some(fault) = done.failed {
            // What was changed before it stays changed, but a statement that fails counts nothing, as in MongoDB.
            return Err(fault);
        }
        if way.ended() || (all.matched > 0 && !statement.many) {
            wrote.n += all.matched + u64::from(done.upserted.is_some());
            wrote.modified += all.modified;
            wrote.upserted.extend(done.upserted.map(|id| (index, id)));
            return Ok(());
        }
        walk = Some(way);
    }
}

/// Updates what matches in the next stretch. A document that cannot be updated ends it; those before it are updated.
async fn stretch(
    work: &Work,
    look: &Look<'_>,
    (statement, plan): (&Change, &Plan),
    walk: &mut Walk,
    writing: &mut Writing<'_>,
) -> Result<Stretch> {
    let mut done = Stretch::default();
    while !walk.ended() && done.modified < CHUNK_DOCUMENTS as u64 {
        work.in_time().await?;
        for row in walk.next(look, CHUNK_DOCUMENTS).await? {
            if writing.is_full() {
                walk.back_to(&row);
                return Ok(done);
            }
            let document = row.document()?;
            let found = match plan.filter.match_with_position(&document) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) => {
                    done.failed = Some(error.into());
                    return Ok(done);
                }
            };
            let old = (row.id(look, &document), &document);
            match one_document(plan, found, old, writing).await {
                Ok(modified) => {
                    done.matched += 1;
                    done.modified += u64::from(modified);
                }
                Err(fault @ Fault::Said { .. }) => done.failed = Some(fault),
                Err(fault) if fault.is_again() => done.failed = Some(fault),
                Err(fault) => return Err(fault),
            }
            if !statement.many || done.failed.is_some() {
                return Ok(done);
            }
        }
    }
    Ok(done)
}

/// Makes the document that none was found for.
async fn upsert(
    work: &Work,
    (statement, plan): (&Change, &Plan),
    writing: &mut Writing<'_>,
) -> Result<Stretch> {
    let made = statement.made(plan, work)?;
    let mut done = Stretch {
        upserted: made.get(ID).cloned(),
        ..Stretch::default()
    };
    match writing.insert(made).await {
        Err(fault) if fault.is_again() => done.failed = Some(fault),
        inserted => inserted?,
    }
    Ok(done)
}

/// Updates a document that matches; says whether it has changed.
async fn one_document(
    plan: &Plan,
    found: Match,
    old: (DocumentId, &Object),
    writing: &mut Writing<'_>,
) -> Result<bool> {
    let updated = plan.update.apply(old.1, found)?;
    if updated.modified {
        replace(writing, old, updated.clone()).await?;
    }
    Ok(updated.modified)
}

/// Puts a changed document in the place of the old one.
pub(crate) async fn replace(
    writing: &mut Writing<'_>,
    (own, old): (DocumentId, &Object),
    updated: Updated,
) -> Result<()> {
    let new = updated.document;
    if DocumentId::of_document(&new) != DocumentId::of_document(old) {
        let shown = crate::documents::shell::text(new.get(ID).unwrap_or(&Value::Null));
        return Err(Fault::new(
            code::IMMUTABLE_FIELD,
            format!(
                "After applying the update, the (immutable) field '_id' was found to have been altered to _id: {shown}"
            ),
        ));
    }
    id::check(new.get(ID).unwrap_or(&Value::Null))?;
    prepare::check(&new)?;
    writing.check(Some(old), &new)?;
    writing.replace(&own, new, updated.described).await
}

/// What a session remembers of a statement.
fn noted(done: &Stretch) -> Object {
    let number = |n: u64| Value::Int64(i64::try_from(n).unwrap_or(i64::MAX));
    let mut noted = Object::with_capacity(3);
    noted.push("n", number(done.matched));
    noted.push("m", number(done.modified));
    if let Some(id) = &done.upserted {
        noted.push("u", id.clone());
    }
    noted
}

/// Answers a statement as it was answered before.
fn repeat(done: &Object, index: usize, wrote: &mut Wrote) {
    let number = |name: &str| {
        done.get(name)
            .and_then(Value::as_i64)
            .map_or(0, i64::unsigned_abs)
    };
    wrote.n += number("n");
    wrote.modified += number("m");
    if let Some(id) = done.get("u") {
        wrote.n += 1;
        wrote.upserted.push((index, id.clone()));
    }
}
