//! Checks a collection: every document is read, the calendar is counted again, and indexes must name every document.

use lapsedb_store::Collection;
use lapsedb_store::index::named::{NamedIndex, PartKind};
use lapsedb_value::bson;

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::names;
use crate::documents::language::{Filter, Terms};
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::plan::{Access, Hint, Question, plan};
use crate::documents::walk::{Source, Walk};
use crate::documents::work::Work;

/// Documents or entries looked at between two looks at the clock.
const STEP_ROWS: usize = 256;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Validated {
    /// Living documents.
    pub documents: u64,
    /// Those that cannot be read.
    pub unreadable: u64,
    /// How many indexes it has.
    pub indexes: u64,
    /// How many documents each index names that must name all.
    pub named: Vec<(String, u64)>,
    /// What is wrong.
    pub errors: Vec<String>,
}

/// Checks a collection.
///
/// # Errors
/// When it is not there, its time is up, or the engine fails. What is wrong with the collection is no error of the check.
pub async fn validate(work: &mut Work, namespace: &Namespace) -> Result<Validated> {
    let look = Look::fresh(work, namespace).await?;
    let Some(collection) = &look.collection else {
        return Err(Fault::new(
            code::NAMESPACE_NOT_FOUND,
            format!("Collection '{namespace}' does not exist to validate."),
        ));
    };
    let mut found = Validated {
        indexes: names(collection).len() as u64,
        ..Validated::default()
    };
    let mut walk = Walk::new(Source::Everything);
    while !walk.ended() {
        look.work.in_time().await?;
        for row in walk.next(&look, STEP_ROWS).await? {
            found.documents += 1;
            if let Err(error) = bson::read_document(&row.body) {
                found.unreadable += 1;
                found
                    .errors
                    .push(format!("a document cannot be read: {error}"));
            }
        }
    }
    let counted = look.view.recount(collection).await?;
    let said = look.view.count(collection).await?;
    if counted.buckets_wrong > 0 || said != found.documents {
        found.errors.push(format!(
            "the calendar says {said} documents, {} are there; {} of its buckets are wrong",
            found.documents, counted.buckets_wrong
        ));
    }
    for index in collection.indexes.all() {
        if let Some(named) = entries(&look, collection, namespace, index).await? {
            let name = index.name.to_string();
            if named != found.documents {
                found.errors.push(format!(
                    "index {name} names {named} documents of {}",
                    found.documents
                ));
            }
            found.named.push((name, named));
        }
    }
    Ok(found)
}

/// How many documents an index names that must name all of them.
async fn entries(
    look: &Look<'_>,
    collection: &Collection,
    namespace: &Namespace,
    index: &NamedIndex,
) -> Result<Option<u64>> {
    let plain = |kind: &PartKind| matches!(kind, PartKind::Ascending | PartKind::Descending);
    let every = !index.sparse
        && index.filter.is_none()
        && index.wildcard.is_none()
        && !index.hidden
        && index.whole
        && index.parts.iter().all(|part| plain(&part.kind));
    if !every {
        return Ok(None);
    }
    let terms = Terms {
        hint: Hint::Name(index.name.to_string()),
        ..Terms::default()
    };
    let language = terms.language(look.work, namespace).await?;
    let everything = Filter::everything();
    let plan = plan(look, &language, Question::counting(&everything)).await?;
    let (Access::Index(_), Source::Scan(mut scan)) = (&plan.access, plan.source) else {
        return Ok(None);
    };
    let mut named = 0;
    loop {
        look.work.in_time().await?;
        let step = scan.next(&look.view, collection, STEP_ROWS).await?;
        if step.is_empty() {
            return Ok(Some(named));
        }
        named += step.len() as u64;
    }
}
