//! Chooses the documents that a search may find, by the entries of the index that it needs.

use std::sync::Arc;

use lapsedb_store::index::named::NamedIndex;
use lapsedb_store::index::scan::EntrySpan;
use lapsedb_store::{Collection, ItemKey};

use crate::documents::choose::{Choice, Hint};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::language::Filter;
use crate::documents::look::Look;
use crate::documents::search::text;
use crate::documents::walk::Source;

/// Entries an index may name before looking at all documents is taken to be no worse.
const ENTRIES_MAX: usize = 200_000;
/// Entries read in one step.
const STEP_ENTRIES: usize = 4096;

/// Two beginnings of entries, both inclusive.
pub(super) type Stretch = (Vec<u8>, Vec<u8>);

/// The documents of a search; nothing, if the filter asks for none.
///
/// # Errors
/// When the index that it needs is not there or cannot answer, or a hint says otherwise.
pub(crate) async fn choose(
    look: &Look<'_>,
    filter: &Filter,
    hint: &Hint,
) -> Result<Option<Choice>> {
    let Some(search) = filter.text() else {
        return Ok(None);
    };
    let Some(collection) = &look.collection else {
        return Ok(None);
    };
    if !matches!(hint, Hint::None) {
        return Err(Fault::new(
            code::BAD_VALUE,
            "text and hint not allowed in same query",
        ));
    }
    // One of several ways to match, or asked within a transaction: the words are looked for in every document.
    if !filter.demands_text() || look.overlay.is_some() {
        return Ok(Some(everything()));
    }
    let (index, stems) = text::entries(collection, search, filter)?;
    let stretches = stems.into_iter().map(|stem| (stem.clone(), stem)).collect();
    Ok(Some(read(look, collection, index, stretches).await?))
}

fn everything() -> Choice {
    Choice {
        source: Source::Everything,
        index: None,
    }
}

/// The documents that entries name, each once, in the order of creation; all, if they are too many.
async fn read(
    look: &Look<'_>,
    collection: &Collection,
    index: &NamedIndex,
    stretches: Vec<Stretch>,
) -> Result<Choice> {
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
    Ok(Choice {
        source: Source::Keys(Arc::new(keys)),
        index: Some((index.name.to_string(), index.pattern(), read)),
    })
}
