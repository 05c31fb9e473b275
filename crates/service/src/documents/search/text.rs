//! `$text`: the entries of a text index that name the documents with one of the words.

use std::sync::Arc;

use lapsedb_mql::text::{Search, TextSpec};
use lapsedb_store::Collection;
use lapsedb_store::index::bson_key::{Part, prefix};
use lapsedb_store::index::named::{NamedIndex, PartKind};
use lapsedb_value::{Object, Str, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::language::Filter;
use crate::documents::plan::refused;
use crate::documents::search::FTS;

/// The text index of a collection, whether or not queries see it.
fn index(collection: &Collection) -> Option<&NamedIndex> {
    let is_text = |index: &&NamedIndex| index.parts.iter().any(|part| part.path == FTS);
    let all = collection.indexes.all().iter();
    all.filter(|index| index.whole && index.made.is_some())
        .find(is_text)
}

/// What a collection's text index holds.
pub(crate) fn spec(collection: &Collection) -> Option<Arc<TextSpec>> {
    index(collection).map(|index| Arc::new(TextSpec::of_options(&index.options)))
}

/// What the text indexes of all collections of a database hold.
pub(crate) fn all_specs<'a>(
    collections: impl Iterator<Item = &'a Arc<Collection>>,
) -> Vec<(Str, Arc<TextSpec>)> {
    collections
        .filter_map(|collection| Some((Str::from(collection.id.as_str()), spec(collection)?)))
        .collect()
}

/// The index that answers, and the beginnings of its entries that do.
pub(super) fn entries<'a>(
    collection: &'a Collection,
    search: &Search,
    filter: &Filter,
) -> Result<(&'a NamedIndex, Vec<Vec<u8>>)> {
    let index = index(collection).filter(|index| !index.hidden);
    let index = index.ok_or_else(|| unusable("need exactly one text index for $text query"))?;
    let mut stem = Vec::new();
    for part in index.parts.iter().take_while(|part| part.path != FTS) {
        let value = filter.equal_to(&part.path).ok_or_else(needs_equalities)?;
        let descending = matches!(part.kind, PartKind::Descending);
        stem.extend(prefix(Part::Value(value), descending));
    }
    if let Some(partial) = &index.filter
        && !follows(&partial.expression, filter)?
    {
        return Err(needs_equalities());
    }
    let term = |term: &str| {
        [
            stem.as_slice(),
            &prefix(Part::Value(&Value::from(term)), false),
        ]
        .concat()
    };
    Ok((index, search.index_terms().map(term).collect()))
}

/// Whether every document that a filter finds is one that a partial index holds: by its equalities, field by field.
pub(super) fn follows(partial: &Object, filter: &Filter) -> Result<bool> {
    for (path, condition) in partial {
        let Some(value) = filter.equal_to(path) else {
            return Ok(false);
        };
        let mut condition_alone = Object::with_capacity(1);
        condition_alone.push("value", condition.clone());
        let mut document = Object::with_capacity(1);
        document.push("value", value.clone());
        if !crate::documents::language::matches(&condition_alone, &document)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn needs_equalities() -> Fault {
    unusable(
        "failed to use text index to satisfy $text query (if text index is compound, are equality predicates given for all prefix fields?)",
    )
}

pub(super) fn unusable(why: &str) -> Fault {
    refused(code::NO_QUERY_EXECUTION_PLANS, why)
}
