//! Changes or deletes one document, and shows it as it was or as it is now.

use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::{DocumentId, ID};
use crate::documents::language::{Filter, Language, Match, Projection, Sort, Terms};
use crate::documents::look::{Look, not_foreign};
use crate::documents::namespace::Namespace;
use crate::documents::plan::{Question, plan as planned};
use crate::documents::update::{Change, replace};
use crate::documents::walk::Walk;
use crate::documents::work::Work;
use crate::documents::writable::Writable;
use crate::documents::writing::{Tries, Writing};

/// Documents looked at between two looks at the clock.
const STEP_ROWS: usize = 256;

/// Code of a statement that is sent again as another.
const INCOMPATIBLE_RETRY: i32 = 40_606;

/// What to do to one document.
#[derive(Clone, Debug)]
pub struct FindAndModify {
    /// Which document.
    pub filter: Object,
    /// The first in which order.
    pub sort: Object,
    /// What of it is shown.
    pub fields: Object,
    /// What becomes of it; it is deleted, if nothing.
    pub change: Option<Change>,
    /// Show it as it is afterwards.
    pub new: bool,
    /// How texts compare and which variables there are.
    pub terms: Terms,
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub struct Modified {
    /// The document as asked for.
    pub value: Option<Object>,
    /// How many were found or made.
    pub n: u64,
    /// Whether one that was there was changed; nothing, if it was to be deleted.
    pub updated_existing: Option<bool>,
    /// The `_id` of one that was made.
    pub upserted: Option<Value>,
    /// The statement, if it had been executed before.
    pub retried: Option<i32>,
}

struct Plan {
    language: Language,
    filter: Filter,
    sort: Option<Sort>,
}

/// Changes or deletes the first document that matches.
///
/// # Errors
/// When a part of it is wrong, a key is taken, who asks may not, or the engine fails.
pub async fn find_and_modify(
    work: &mut Work,
    namespace: &Namespace,
    asked: &FindAndModify,
) -> Result<Modified> {
    work.ctx.who.may_write_at_all()?;
    let target = Writable::for_documents(namespace)?;
    if let Some(change) = &asked.change {
        // A wrong update is refused even if there is nothing to update.
        change.plan(work, namespace).await?;
    }
    let language = asked.terms.language(work, namespace).await?;
    let filter = language.filter(&asked.filter)?;
    let language = language.behind(&filter);
    let plan = Plan {
        filter,
        sort: language.sort(&asked.sort)?,
        language,
    };
    let projection = plan.language.projection(&asked.fields)?;
    check_positional(asked)?;
    let mut tries = Tries::default();
    loop {
        work.in_time().await?;
        let look = Look::fresh(work, namespace).await?;
        let Some(collection) = look.collection.clone() else {
            not_foreign(&look.view, namespace)?;
            drop(look);
            match &asked.change {
                Some(change) if change.upsert => work.make(target).await?,
                Some(_) => {
                    return Ok(Modified {
                        updated_existing: Some(false),
                        ..Modified::default()
                    });
                }
                None => return Ok(Modified::default()),
            }
            continue;
        };
        let retry = work.retry_in(&look.view).await?;
        let number = retry.as_ref().map(|retry| retry.statement(0));
        if let (Some(retry), Some(number)) = (&retry, number)
            && let Some(done) = retry.executed(&look.view, number).await?
        {
            return repeated(&done, number, asked.change.is_none());
        }
        let mut writing = Writing::on(&look, &collection, target).await?;
        let modified = attempt(work, &look, (asked, &plan, namespace), &mut writing).await;
        let mut modified = match modified {
            Err(fault) if fault.is_again() => {
                tries.again().await?;
                continue;
            }
            modified => modified?,
        };
        if let Some(projection) = &projection {
            project(&plan, projection, &mut modified)?;
        }
        let charge = writing.charge();
        let executed = Vec::from_iter(number.map(|number| (number, noted(&modified))));
        if writing.commit(work, retry.as_ref(), &executed).await? {
            look.spend(&work.ctx, charge);
            return Ok(modified);
        }
        tries.again().await?;
    }
}

/// Leaves of the document what is asked for.
fn project(plan: &Plan, projection: &Projection, modified: &mut Modified) -> Result<()> {
    if let Some(document) = modified.value.take() {
        let found = plan.filter.match_with_position(&document)?;
        let found = found.unwrap_or_default();
        modified.value = Some(projection.apply(document, found, None)?);
    }
    Ok(())
}

async fn attempt(
    work: &Work,
    look: &Look<'_>,
    (asked, plan, namespace): (&FindAndModify, &Plan, &Namespace),
    writing: &mut Writing<'_>,
) -> Result<Modified> {
    let found = first(work, look, plan).await?;
    match (&asked.change, found) {
        (None, None) => Ok(Modified::default()),
        (None, Some((id, document, _))) => {
            writing.delete(&id, 0).await?;
            Ok(Modified {
                value: Some(document),
                n: 1,
                ..Modified::default()
            })
        }
        (Some(change), Some((id, document, position))) => {
            let update = change.plan(work, namespace).await?.update;
            let updated = update.apply(&document, position)?;
            if updated.modified {
                replace(writing, (id, &document), updated.clone()).await?;
            }
            Ok(Modified {
                value: Some(if asked.new {
                    updated.document
                } else {
                    document
                }),
                n: 1,
                updated_existing: Some(true),
                ..Modified::default()
            })
        }
        (Some(change), None) if change.upsert => {
            let update = change.plan(work, namespace).await?;
            let made = change.made(&update, work)?;
            writing.insert(made.clone()).await?;
            Ok(Modified {
                n: 1,
                updated_existing: Some(false),
                upserted: made.get(ID).cloned(),
                value: asked.new.then_some(made),
                ..Modified::default()
            })
        }
        (Some(_), None) => Ok(Modified {
            updated_existing: Some(false),
            ..Modified::default()
        }),
    }
}

/// The first document that matches, in the order asked for.
async fn first(
    work: &Work,
    look: &Look<'_>,
    plan: &Plan,
) -> Result<Option<(DocumentId, Object, Match)>> {
    let question = Question {
        sort: plan.sort.as_ref(),
        ..Question::of(&plan.filter)
    };
    let way = planned(look, &plan.language, question).await?;
    let mut walk = Walk::new(way.source);
    let sort = plan.sort.as_ref().filter(|_| !way.sorted);
    let mut best: Option<(Vec<Value>, DocumentId, Object, Match)> = None;
    // If the first that matches is wanted, few are read at first.
    let mut step = if sort.is_some() { STEP_ROWS } else { 1 };
    while !walk.ended() {
        work.in_time().await?;
        for row in walk.next(look, step).await? {
            let document = row.document()?;
            let Some(position) = plan.filter.match_with_position(&document)? else {
                continue;
            };
            let Some(sort) = sort else {
                return Ok(Some((row.id(look, &document), document, position)));
            };
            let key = sort.key_beside(&document, position.score, position.distance)?;
            let better = match &best {
                Some((other, ..)) => sort.compare_keys(&key, other).is_lt(),
                None => true,
            };
            if better {
                best = Some((key, row.id(look, &document), document, position));
            }
        }
        step = (step * 2).min(STEP_ROWS);
    }
    Ok(best.map(|(_, id, document, position)| (id, document, position)))
}

/// What a session remembers of it.
fn noted(modified: &Modified) -> Object {
    let mut noted = Object::with_capacity(4);
    noted.push("n", i64::try_from(modified.n).unwrap_or(i64::MAX));
    if let Some(value) = &modified.value {
        noted.push("v", Value::Object(value.clone()));
    }
    if let Some(updated) = modified.updated_existing {
        noted.push("x", updated);
    }
    if let Some(id) = &modified.upserted {
        noted.push("u", id.clone());
    }
    noted
}

/// Answers as it was answered before.
fn repeated(done: &Object, statement: i32, deletes: bool) -> Result<Modified> {
    if deletes == done.contains_key("x") {
        return Err(Fault::new(
            INCOMPATIBLE_RETRY,
            "findAndModify retry request is not compatible with the previous write of this statement: one deletes, the other updates",
        ));
    }
    Ok(Modified {
        value: done.get("v").and_then(Value::as_object).cloned(),
        n: done
            .get("n")
            .and_then(Value::as_i64)
            .map_or(0, i64::unsigned_abs),
        updated_existing: done.get("x").and_then(Value::as_bool),
        upserted: done.get("u").cloned(),
        retried: Some(statement),
    })
}

/// The answer to members that exclude each other.
#[must_use]
pub fn clash(message: &str) -> Fault {
    Fault::new(code::FAILED_TO_PARSE, message)
}

/// The new document need not have the element that the filter found in the old one.
fn check_positional(asked: &FindAndModify) -> Result<()> {
    if asked.new && asked.fields.keys().any(|name| name.ends_with(".$")) {
        return Err(Fault::new(
            code::BAD_VALUE,
            "Cannot use a positional projection and return the new document.",
        ));
    }
    Ok(())
}
