//! Deletes documents.

use lapsedb_value::{Object, Value};

use crate::documents::WRITES_MAX;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::insert::batch_size;
use crate::documents::language::{Filter, Terms};
use crate::documents::look::{Look, not_foreign};
use crate::documents::namespace::Namespace;
use crate::documents::walk::Walk;
use crate::documents::work::Work;
use crate::documents::writable::Writable;
use crate::documents::writing::{Tries, WriteFault, Writing, Wrote};

/// Documents of one commit.
pub(crate) const CHUNK_DOCUMENTS: usize = 500;

/// One statement.
#[derive(Clone, Debug)]
pub struct Delete {
    /// Which documents.
    pub filter: Object,
    /// All that match, not only the first.
    pub many: bool,
    /// How texts compare and which variables there are.
    pub terms: Terms,
}

/// Deletes documents, a statement after the other.
///
/// # Errors
/// When there are no statements or too many, who asks may not, or the engine fails.
pub async fn delete(
    work: &mut Work,
    namespace: &Namespace,
    statements: &[Delete],
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
    Ok(wrote)
}

async fn one(
    work: &mut Work,
    target: Writable<'_>,
    (index, statement): (usize, &Delete),
    wrote: &mut Wrote,
) -> Result<()> {
    let namespace = target.namespace();
    let language = statement.terms.language(work, namespace).await?;
    let filter = language.filter(&statement.filter)?;
    if statement.many && work.is_retryable() {
        return Err(not_retryable("limit=0"));
    }
    let mut walk: Option<Walk> = None;
    let mut tries = Tries::default();
    let mut all = 0;
    while !walk.as_ref().is_some_and(Walk::ended) {
        work.in_time().await?;
        let look = Look::fresh(work, namespace).await?;
        let Some(collection) = look.collection.clone() else {
            return not_foreign(&look.view, namespace);
        };
        let retry = work.retry_in(&look.view).await?;
        let number = retry.as_ref().map(|retry| retry.statement(index));
        if let (Some(retry), Some(number)) = (&retry, number)
            && let Some(done) = retry.executed(&look.view, number).await?
        {
            wrote.n += done
                .get("n")
                .and_then(Value::as_i64)
                .map_or(1, i64::unsigned_abs);
            wrote.retried.push(number);
            return Ok(());
        }
        let mut way = match &walk {
            Some(walk) => walk.clone(),
            None => language.walk_for(&look, &filter, statement.many).await?,
        };
        let mut writing = Writing::on(&look, &collection, target).await?;
        let many = statement.many;
        let (deleted, failed) =
            stretch(work, &look, (&filter, many), &mut way, &mut writing).await?;
        if let (Some(fault), true) = (&failed, work.in_transaction()) {
            return Err(fault.clone());
        }
        let charge = writing.charge();
        let executed: Vec<_> = number
            .map(|number| (number, Object::new()))
            .into_iter()
            .collect();
        if writing.commit(work, retry.as_ref(), &executed).await? {
            look.spend(&work.ctx, charge);
            all += deleted;
            if let Some(fault) = failed {
                // What was deleted before it stays so, but a statement that fails counts nothing, as in MongoDB.
                return Err(fault);
            }
            if deleted > 0 && !many {
                break;
            }
            walk = Some(way);
        } else {
            // The same stretch again, as it is now.
            tries.again().await?;
        }
    }
    wrote.n += all;
    Ok(())
}

/// Deletes what matches in the next stretch. A document that the filter cannot judge ends it.
async fn stretch(
    work: &Work,
    look: &Look<'_>,
    (filter, many): (&Filter, bool),
    walk: &mut Walk,
    writing: &mut Writing<'_>,
) -> Result<(u64, Option<Fault>)> {
    let mut deleted = 0;
    while !walk.ended() && deleted < CHUNK_DOCUMENTS as u64 {
        work.in_time().await?;
        for row in walk.next(look, CHUNK_DOCUMENTS).await? {
            if writing.is_full() {
                walk.back_to(&row);
                return Ok((deleted, None));
            }
            let document = row.document()?;
            let matches = match filter.matches(&document) {
                Ok(matches) => matches,
                Err(error) => return Ok((deleted, Some(error.into()))),
            };
            if matches {
                let id = row.id(look, &document);
                writing.delete(&id, row.body.len()).await?;
                deleted += 1;
                if !many {
                    return Ok((deleted, None));
                }
            }
        }
    }
    Ok((deleted, None))
}

/// The answer to a statement that may touch many documents and yet is to be retried.
pub(crate) fn not_retryable(what: &str) -> Fault {
    Fault::new(
        code::INVALID_OPTIONS,
        format!("Cannot use (or request) retryable writes with {what}"),
    )
}
