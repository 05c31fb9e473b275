//! Chooses the documents that a search may find, by the entries of the index that it needs.

use std::sync::Arc;

use lapsedb_store::index::named::NamedIndex;
use lapsedb_store::index::scan::EntrySpan;
use lapsedb_store::{Collection, ItemKey};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::find::Find;
use crate::documents::language::{Filter, Language};
use crate::documents::look::Look;
use crate::documents::plan::{Access, Hint, Plan};
use crate::documents::search::{places, text};
use crate::documents::walk::{Source, Walk};

/// Entries an index may name before looking at all documents is taken to be no worse.
const ENTRIES_MAX: usize = 200_000;
/// Entries read in one step.
const STEP_ENTRIES: usize = 4096;

/// Two beginnings of entries, both inclusive.
pub(super) type Stretch = (Vec<u8>, Vec<u8>);

/// The documents of a search that only an index answers; nothing, if the filter asks for none.
///
/// # Errors
/// When the index that it needs is not there or cannot answer, or a hint says otherwise.
pub(crate) async fn choose(look: &Look<'_>, filter: &Filter, hint: &Hint) -> Result<Option<Plan>> {
    let Some(collection) = &look.collection else {
        return Ok(None);
    };
    let found = match filter.text() {
        None => places::near(collection, filter, hint)?,
        Some(_) if !matches!(hint, Hint::None) => {
            return Err(Fault::new(
                code::BAD_VALUE,
                "text and hint not allowed in same query",
            ));
        }
        // One of several ways to match: the words are looked for in every document.
        Some(_) if !filter.demands_text() => return Ok(Some(everything())),
        Some(search) => {
            let (index, stems) = text::entries(collection, search, filter)?;
            Some((
                index,
                stems.into_iter().map(|stem| (stem.clone(), stem)).collect(),
            ))
        }
    };
    match found {
        None => Ok(None),
        // What a transaction has changed stands in no index yet.
        Some(_) if look.overlay.is_some() => Ok(Some(everything())),
        Some((index, stretches)) => Ok(Some(read(look, collection, index, stretches).await?)),
    }
}

/// The documents that may lie where a filter asks; nothing, if no index over places can say.
pub(crate) async fn narrow(look: &Look<'_>, filter: &Filter) -> Result<Option<Plan>> {
    let Some(collection) = &look.collection else {
        return Ok(None);
    };
    match places::within(collection, filter) {
        Some((index, stretches)) if look.overlay.is_none() => {
            Ok(Some(read(look, collection, index, stretches).await?))
        }
        Some(_) | None => Ok(None),
    }
}

/// The same documents with the nearest first, for commands that take only one of them.
pub(crate) async fn nearest_first(look: &Look<'_>, filter: &Filter, walk: Walk) -> Result<Walk> {
    if filter.near().is_none() || look.overlay.is_some() {
        return Ok(walk);
    }
    let (mut walk, mut found) = (walk, Vec::new());
    while !walk.ended() {
        for row in walk.next(look, STEP_ENTRIES).await? {
            if let Some(matched) = filter.match_with_position(&row.document()?)? {
                found.push((matched.distance.unwrap_or(f64::INFINITY), row.key));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let keys = found.into_iter().map(|(_, key)| key).collect();
    Ok(Walk::new(Source::Keys(Arc::new(keys))))
}

/// A filter that finds the nearest documents that are asked for, within a distance that is no larger than it must be.
///
/// # Errors
/// When the index is not there, or the engine fails.
pub(crate) async fn near_enough(
    look: &Look<'_>,
    language: &Language,
    filter: Filter,
    find: &Find,
) -> Result<Filter> {
    let Some((_, near)) = filter.near() else {
        return Ok(filter);
    };
    if find.limit == 0 || !find.sort.is_empty() || look.overlay.is_some() {
        return Ok(filter);
    }
    let wanted = find.skip.saturating_add(find.limit);
    for radius in near.radii() {
        let nearer = filter.nearer_than(radius);
        let mut walk = language.walk(look, &nearer).await?;
        let mut found = 0u64;
        while !walk.ended() {
            for row in walk.next(look, STEP_ENTRIES).await? {
                found += u64::from(nearer.matches(&row.document()?)?);
            }
        }
        if found >= wanted {
            return Ok(nearer);
        }
    }
    Ok(filter)
}

fn everything() -> Plan {
    Plan {
        source: Source::Everything,
        sorted: false,
        access: Access::Everything { reverse: false },
        read: 0,
    }
}

/// The documents that entries name, each once, in the order of creation; all, if they are too many.
async fn read(
    look: &Look<'_>,
    collection: &Collection,
    index: &NamedIndex,
    stretches: Vec<Stretch>,
) -> Result<Plan> {
    let mut found: Vec<(u64, ItemKey)> = Vec::new();
    let mut read = 0;
    for (low, high) in &stretches {
        let mut span = EntrySpan::named(collection, index, low, high);
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
                return Ok(everything());
            }
            match page.rest {
                Some(rest) => span = rest,
                None => break,
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    let keys = found.into_iter().map(|(_, key)| key).collect();
    Ok(Plan {
        source: Source::Keys(Arc::new(keys)),
        sorted: false,
        access: Access::searched(index),
        read,
    })
}
