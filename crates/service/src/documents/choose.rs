//! Chooses where the documents that a filter may find come from: by `_id`, by an index, or by looking at all.
//!
//! An index only narrows: every document found is asked the whole filter again. What an index names is put in the order of
//! creation, so that documents come in one order however they were found.

use std::collections::HashSet;
use std::sync::Arc;

use lapsedb_mql::filter::{Edge, Interval};
use lapsedb_store::index::bson_key::{Part, prefix};
use lapsedb_store::index::named::{NamedIndex, PartKind};
use lapsedb_store::index::scan::EntrySpan;
use lapsedb_store::{Collection, ItemKey};
use lapsedb_value::order::bson_class;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::{ID_INDEX, shown};
use crate::documents::language::{Filter, Language};
use crate::documents::look::Look;
use crate::documents::search;
use crate::documents::walk::Source;

/// Entries an index may name before looking at all documents is taken to be no worse.
const ENTRIES_MAX: usize = 200_000;
/// Entries read in one step.
const STEP_ENTRIES: usize = 4096;
/// Intervals an index is read for at most.
const INTERVALS_MAX: usize = 1000;

/// Which index a client wants to be used.
#[derive(Clone, Debug, Default)]
pub enum Hint {
    /// Whichever is best.
    #[default]
    None,
    /// That of this name.
    Name(String),
    /// That with this key.
    Key(Object),
}

/// What was chosen.
pub(crate) struct Choice {
    pub(crate) source: Source,
    /// The index that was used, and how many of its entries were read.
    pub(crate) index: Option<(String, Object, u64)>,
}

/// Chooses.
pub(crate) async fn choose(
    look: &Look<'_>,
    language: &Language,
    filter: &Filter,
    hint: &Hint,
) -> Result<Choice> {
    let all = |source| Choice {
        source,
        index: None,
    };
    let Some(collection) = &look.collection else {
        return Ok(all(Source::Ids(Vec::new())));
    };
    if let Some(choice) = search::choose(look, filter, hint).await? {
        return Ok(choice);
    }
    let hinted = hinted(collection, hint)?;
    match language.source(filter) {
        ids @ Source::Ids(_) if hinted.is_none() => return Ok(all(ids)),
        _ if filter.is_everything() && hinted.is_none() => return Ok(all(Source::Everything)),
        _ => {}
    }
    // What a transaction has changed stands in no index yet.
    if look.overlay.is_some() {
        return Ok(all(Source::Everything));
    }
    for candidate in candidates(look, collection, language, filter, hinted.as_deref()).await? {
        let in_order = hinted.is_some();
        if let Some((keys, read)) = read(look, collection, &candidate, in_order).await? {
            return Ok(Choice {
                source: Source::Keys(Arc::new(keys)),
                index: Some((
                    candidate.index.name.to_string(),
                    candidate.index.pattern(),
                    read,
                )),
            });
        }
    }
    if hinted.is_none()
        && let Some(choice) = search::narrow(look, filter).await?
    {
        return Ok(choice);
    }
    Ok(all(Source::Everything))
}

/// The name of the index a client wants, if it wants one that can be used.
fn hinted(collection: &Collection, hint: &Hint) -> Result<Option<String>> {
    let name = match hint {
        Hint::None => return Ok(None),
        Hint::Name(name) => shown(collection)
            .iter()
            .filter_map(|index| index.get("name").and_then(Value::as_str).map(str::to_owned))
            .find(|known| known == name),
        Hint::Key(key) if key.contains_key("$natural") => return Ok(None),
        Hint::Key(key) => shown(collection)
            .iter()
            .find(|index| {
                let own = index.get("key").cloned().unwrap_or_default();
                lapsedb_value::order::equal_bson(&own, &Value::Object(key.clone()))
            })
            .and_then(|index| index.get("name").and_then(Value::as_str).map(str::to_owned)),
    };
    match name {
        Some(name) if name == ID_INDEX => Ok(None),
        Some(name) => Ok(Some(name)),
        None => Err(Fault::new(
            code::BAD_VALUE,
            "error processing query: planner returned error :: caused by :: hint provided does not correspond to an existing index",
        )),
    }
}

/// Two beginnings of entries, both inclusive.
type Stretch = (Vec<u8>, Vec<u8>);

struct Candidate<'a> {
    index: &'a NamedIndex,
    /// Beginnings and ends of the stretches to read.
    stretches: Vec<Stretch>,
    /// How many fields are bound to single values.
    points: usize,
}

/// The indexes that a filter can use, the best first.
async fn candidates<'a>(
    look: &Look<'_>,
    collection: &'a Collection,
    language: &Language,
    filter: &Filter,
    hinted: Option<&str>,
) -> Result<Vec<Candidate<'a>>> {
    let mut found = Vec::new();
    for index in collection.indexes.all() {
        let wanted = hinted.is_none_or(|name| index.name == name);
        // A partial or sparse index lacks documents that the filter may want; one with a collation compares otherwise.
        let whole = index.filter.is_none() && !index.sparse;
        let plain =
            language.options.collation.is_none() && !index.options.contains_key("collation");
        if !wanted || !whole || !plain || !index.is_usable() {
            continue;
        }
        let multikey = look.view.is_multikey(collection, index.number).await?;
        let usable = stretches(index, filter, multikey);
        // Where a client insists, all entries are read in their order.
        let whole = hinted.map(|_| (vec![Stretch::default()], 0));
        if let Some((stretches, points)) = usable.or(whole) {
            found.push(Candidate {
                index,
                stretches,
                points,
            });
        }
    }
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.points));
    Ok(found)
}

/// The stretches of an index that hold all documents the filter may find.
fn stretches(index: &NamedIndex, filter: &Filter, multikey: bool) -> Option<(Vec<Stretch>, usize)> {
    let mut begun = vec![Vec::new()];
    let mut points = 0;
    for part in &index.parts {
        let descending = match part.kind {
            PartKind::Ascending | PartKind::Hashed => false,
            PartKind::Descending => true,
            PartKind::Other(_) => return None,
        };
        let Some(intervals) = filter
            .bounds(&part.path, multikey)
            .filter(|all| all.iter().all(is_simple))
        else {
            break;
        };
        let singles: Option<Vec<&Value>> = intervals.iter().map(Interval::as_point).collect();
        match singles {
            Some(values) if begun.len() * values.len().max(1) <= INTERVALS_MAX => {
                points += 1;
                begun = begun
                    .iter()
                    .flat_map(|stem| {
                        values.iter().map(|value| {
                            let own = prefix(Part::Value(value), descending);
                            [stem.as_slice(), &own].concat()
                        })
                    })
                    .collect();
            }
            Some(_) => break,
            None => {
                if begun.len() * intervals.len() > INTERVALS_MAX {
                    break;
                }
                let ranges = begun
                    .iter()
                    .flat_map(|stem| {
                        intervals
                            .iter()
                            .map(|interval| range(stem, interval, descending))
                    })
                    .collect();
                return Some((ranges, points));
            }
        }
    }
    if points == 0 {
        return None;
    }
    Some((
        begun.into_iter().map(|stem| (stem.clone(), stem)).collect(),
        points,
    ))
}

/// Whether an interval's ends are values that stand in an index as they are: missing fields, empty arrays and whole arrays
/// do not.
fn is_simple(interval: &Interval) -> bool {
    let simple = |edge: &Edge| match edge {
        Edge::ClassStart(class) | Edge::ClassEnd(class) => {
            ![&Value::Null, &Value::Array(Vec::new())]
                .iter()
                .any(|value| bson_class(value) == *class)
        }
        Edge::Before(value) | Edge::After(value) => !matches!(
            value,
            Value::Undefined | Value::Null | Value::Array(_) | Value::MinKey | Value::MaxKey
        ),
    };
    simple(&interval.low) && simple(&interval.high)
}

/// The beginnings between which an interval lies, both inclusive.
fn range(stem: &[u8], interval: &Interval, descending: bool) -> Stretch {
    let bound = |edge: &Edge| {
        let own = match edge {
            Edge::Before(value) | Edge::After(value) => prefix(Part::Value(value), descending),
            // All classes are read; the filter takes its own.
            Edge::ClassStart(_) | Edge::ClassEnd(_) => Vec::new(),
        };
        [stem, &own].concat()
    };
    let (low, high) = (bound(&interval.low), bound(&interval.high));
    if descending { (high, low) } else { (low, high) }
}

/// The keys an index names, each once, in its order or in that of creation; nothing, if they are too many.
async fn read(
    look: &Look<'_>,
    collection: &Collection,
    candidate: &Candidate<'_>,
    in_order: bool,
) -> Result<Option<(Vec<ItemKey>, u64)>> {
    let mut found: Vec<(u64, ItemKey)> = Vec::new();
    let mut read = 0;
    for (low, high) in &candidate.stretches {
        let mut span = EntrySpan::named(collection, candidate.index, low, high);
        loop {
            let page = look
                .view
                .entries(collection, span, false, STEP_ENTRIES)
                .await?;
            read += page.read;
            for entry in &page.entries {
                found.push((entry.ordinal, entry.item.clone()));
            }
            if found.len() > ENTRIES_MAX {
                return Ok(None);
            }
            match page.rest {
                Some(rest) => span = rest,
                None => break,
            }
        }
    }
    if in_order {
        let mut seen = HashSet::with_capacity(found.len());
        found.retain(|(ordinal, _)| seen.insert(*ordinal));
    } else {
        found.sort_unstable();
        found.dedup();
    }
    Ok(Some((
        found.into_iter().map(|(_, key)| key).collect(),
        read,
    )))
}
