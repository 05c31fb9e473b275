//! The indexes that can answer a question, each with what it would be read for.

use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_mql::filter::Options;
use lapsedb_store::Collection;
use lapsedb_store::index::named::NamedIndex;
use lapsedb_store::index::named::notes::IndexNotes;

use super::Question;
use super::bounds::Bounds;
use super::order::{Gives, gives};
use crate::documents::fault::Result;
use crate::documents::language::Filter;
use crate::documents::look::Look;

/// An index, and what it would be read for.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) index: &'a NamedIndex,
    pub(super) notes: IndexNotes,
    pub(super) bounds: Bounds,
    /// How it gives the order that is asked for, if it does.
    pub(super) gives: Option<Gives>,
    /// Whether documents need not be asked the filter again.
    pub(super) exact: bool,
}

impl Candidate<'_> {
    /// Better ones are greater.
    pub(super) fn rank(&self) -> (usize, bool, std::cmp::Reverse<usize>) {
        let (points, ranged) = self.bounds.strength();
        (points, ranged, std::cmp::Reverse(self.index.parts.len()))
    }

    /// Whether its entries give the order.
    pub(super) const fn is_ordered(&self) -> bool {
        matches!(self.gives, Some(Gives::Entries { .. }))
    }
}

/// All indexes that can answer, the best first.
pub(super) async fn candidates<'a>(
    look: &Look<'_>,
    collection: &'a Collection,
    question: &Question<'_>,
) -> Result<Vec<Candidate<'a>>> {
    let mut found = Vec::new();
    for index in collection.indexes.all() {
        if !index.is_usable() || !holds_all(index, question.filter)? {
            continue;
        }
        let candidate = candidate(look, collection, question, index).await?;
        if candidate.bounds.narrows() || candidate.is_ordered() {
            found.push(candidate);
        }
    }
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.rank()));
    Ok(found)
}

/// What an index would be read for.
pub(super) async fn candidate<'a>(
    look: &Look<'_>,
    collection: &Collection,
    question: &Question<'_>,
    index: &'a NamedIndex,
) -> Result<Candidate<'a>> {
    let notes = look.view.index_notes(collection, index.number).await?;
    let own = collation_of(index)?;
    let same = own.as_deref() == question.filter.collation();
    let bounds = Bounds::of(index, question.filter, &notes, same);
    let gives = match question.sort {
        Some(sort) if own.as_deref() == sort.collation() && sort.is_by_fields() => {
            gives(index, &bounds, &notes, sort)
        }
        Some(_) | None => None,
    };
    let exact = same && bounds.is_exact(index, question.filter, &notes);
    Ok(Candidate {
        index,
        notes,
        bounds,
        gives,
        exact,
    })
}

/// Whether every document that the filter finds has its entries in the index.
fn holds_all(index: &NamedIndex, filter: &Filter) -> Result<bool> {
    if let Some(partial) = &index.filter {
        let options = Options {
            collation: collation_of(index)?,
            ..Options::default()
        };
        if !filter.implies(&Filter::parse(&partial.expression, &options)?) {
            return Ok(false);
        }
    }
    let there = |part: &lapsedb_store::IndexPart| filter.excludes_missing(&part.path);
    Ok(!index.sparse || index.wildcard.is_some() || index.parts.iter().any(there))
}

/// How an index compares texts. An older one keeps them as they are, whatever it says.
pub(crate) fn collation_of(index: &NamedIndex) -> Result<Option<Arc<Collation>>> {
    match (&index.fold, index.collation()) {
        (Some(_), Some(collation)) => Ok(Collation::parse(collation)?.map(Arc::new)),
        _ => Ok(None),
    }
}
