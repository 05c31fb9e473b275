//! Chooses where the documents that a filter may find come from, and in which order: by `_id`, by an index, or by looking at
//! all.
//!
//! An index only narrows: every document found is asked the whole filter again. Where no order is asked for, what an index
//! names is put in the order of creation, so that documents come in one order however they were found.
//!
//! Nothing is known of how values are spread. Where one index promises fewer documents and another the order, the first is
//! tried: if it ends soon, what it named is put in order in memory.

mod access;
mod bounds;
mod candidates;
mod edges;
mod hint;
mod order;
mod shown;

use std::collections::HashSet;
use std::sync::Arc;

use lapsedb_store::{Collection, ItemKey};
use lapsedb_value::Object;

pub(crate) use access::{Access, IndexAccess};
pub(crate) use candidates::collation_of;
pub use hint::Hint;
pub(crate) use hint::refused;

use crate::documents::fault::Result;
use crate::documents::indexes::ID_INDEX;
use crate::documents::kept::is_time_series;
use crate::documents::language::{Filter, Language, Sort, named_by_id};
use crate::documents::look::Look;
use crate::documents::scan::IndexScan;
use crate::documents::search;
use crate::documents::walk::Source;
use crate::operations::ON_ID;
use candidates::{Candidate, candidate, candidates};
use hint::{Hinted, hinted, with_query};
use order::Gives;

/// Entries an index may name before looking at all documents is taken to be no worse.
const ENTRIES_MAX: usize = 200_000;
/// Entries an index may name to be preferred to one that gives the order.
const TRIAL_ENTRIES: usize = 1000;
/// Entries read in one step.
const STEP_ENTRIES: usize = 4096;
/// Code of a hint that no plan can follow.
const NO_PLANS: i32 = 291;

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) filter: &'a Filter,
    pub(crate) sort: Option<&'a Sort>,
    /// Entries of the hinted index from here on, and up to there.
    pub(crate) edges: Option<(&'a Object, &'a Object)>,
    /// The documents will be changed: which they are is found out before the first is.
    pub(crate) changes: bool,
    /// The entries themselves are asked for, or their number: their order is as good as any.
    pub(crate) entries: bool,
}

impl<'a> Question<'a> {
    /// All that a filter finds, in the order of creation.
    pub(crate) const fn of(filter: &'a Filter) -> Question<'a> {
        Question {
            filter,
            sort: None,
            edges: None,
            changes: false,
            entries: false,
        }
    }
}

impl<'a> Question<'a> {
    /// How many a filter finds.
    pub(crate) const fn counting(filter: &'a Filter) -> Question<'a> {
        let mut question = Question::of(filter);
        question.entries = true;
        question
    }
}

/// What was chosen.
pub(crate) struct Plan {
    pub(crate) source: Source,
    /// Whether documents come in the order asked for.
    pub(crate) sorted: bool,
    /// How they are found, for those who ask.
    pub(crate) access: Access,
    /// How many entries were read to make the plan.
    pub(crate) read: u64,
}

impl Plan {
    /// The entries of which each is one document that matches, if there are such.
    pub(crate) fn counted(&self) -> Option<&IndexScan> {
        match (&self.access, &self.source) {
            (Access::Index(index), Source::Scan(scan)) if index.exact => Some(scan),
            _ => None,
        }
    }

    fn all(reverse: bool, collection: &Collection, sorted: bool) -> Plan {
        Plan {
            source: match reverse {
                true => Source::Scan(Box::new(IndexScan::youngest_first(collection))),
                false => Source::Everything,
            },
            sorted,
            access: Access::Everything { reverse },
            read: 0,
        }
    }
}

/// Makes a plan, and counts the index it has chosen.
pub(crate) async fn plan(
    look: &Look<'_>,
    language: &Language,
    question: Question<'_>,
) -> Result<Plan> {
    let plan = choose(look, language, question).await;
    let plan = plan.map_err(|fault| with_query(fault, look, &question))?;
    let index = match (&plan.access, &look.collection) {
        (Access::Index(index), Some(collection)) if index.name == ID_INDEX => {
            Some((collection, ON_ID))
        }
        (Access::Index(index), Some(collection)) => Some((collection, index.number)),
        (Access::Ids(_), Some(collection)) => Some((collection, ON_ID)),
        (Access::Nothing | Access::Everything { .. }, _) | (_, None) => None,
    };
    look.work.planned(|| plan.access.summary(), plan.read);
    if let Some((collection, number)) = index {
        let state = look.work.ctx.service().documents_state();
        state.operations.index_uses.used(collection.cid, number);
    }
    Ok(plan)
}

async fn choose(look: &Look<'_>, language: &Language, question: Question<'_>) -> Result<Plan> {
    let unsorted = question.sort.is_none();
    let Some(collection) = &look.collection else {
        return Ok(Plan {
            source: Source::Ids(Vec::new()),
            sorted: true,
            access: Access::Nothing,
            read: 0,
        });
    };
    if let Some(plan) = search::choose(look, question.filter, &language.hint).await? {
        return Ok(Plan {
            sorted: unsorted,
            ..plan
        });
    }
    let hinted = hinted(collection, &language.hint)?;
    if let Some(edges) = question.edges {
        return edges::plan(look, collection, &hinted, question, edges).await;
    }
    // What a transaction has changed stands in no index yet.
    if look.overlay.is_some() {
        return Ok(
            by_id(collection, question).unwrap_or_else(|| Plan::all(false, collection, unsorted))
        );
    }
    let natural = question.sort.is_some_and(Sort::is_natural);
    match hinted {
        Hinted::Natural { reverse } => {
            let reverse = reverse || natural;
            Ok(Plan::all(reverse, collection, unsorted || natural))
        }
        _ if natural => Ok(Plan::all(true, collection, true)),
        Hinted::Index(index) => {
            let mut found = candidate(look, collection, &question, index).await?;
            if index.wildcard.is_some() && !found.bounds.narrows() {
                return Err(refused(NO_PLANS, "No query solutions"));
            }
            let ordered = found.is_ordered();
            if !ordered {
                found.gives = None;
            }
            if question.changes {
                let max = usize::MAX;
                let named = drain(look, collection, &found, (max, true)).await?;
                return Ok(named.unwrap_or_else(|| Plan::all(false, collection, unsorted)));
            }
            Ok(stream(collection, &found, unsorted || ordered))
        }
        Hinted::Free => free(look, collection, question).await,
    }
}

/// Documents that the filter names by their ids.
fn by_id(collection: &Collection, question: Question<'_>) -> Option<Plan> {
    // Several may have one id.
    if is_time_series(collection) {
        return None;
    }
    match named_by_id(question.filter) {
        Source::Ids(ids) => Some(Plan {
            sorted: question.sort.is_none() || ids.len() <= 1,
            access: Access::Ids(ids.len()),
            source: Source::Ids(ids),
            read: 0,
        }),
        Source::Everything | Source::Keys(_) | Source::Scan(_) => None,
    }
}

/// The best of all ways.
async fn free(look: &Look<'_>, collection: &Collection, question: Question<'_>) -> Result<Plan> {
    let unsorted = question.sort.is_none();
    if let Some(plan) = by_id(collection, question) {
        return Ok(plan);
    }
    if question.filter.is_everything() && unsorted {
        return Ok(Plan::all(false, collection, true));
    }
    let all = candidates(look, collection, &question).await?;
    let ordered = all.iter().find(|candidate| candidate.is_ordered());
    let bounded = all.iter().find(|candidate| candidate.bounds.narrows());
    match (ordered, bounded) {
        (Some(ordered), Some(bounded)) if bounded.rank() > ordered.rank() => {
            let trial = (TRIAL_ENTRIES, false);
            match drain(look, collection, bounded, trial).await? {
                Some(plan) => Ok(plan),
                None => Ok(stream(collection, ordered, true)),
            }
        }
        (Some(ordered), _) => Ok(stream(collection, ordered, true)),
        (None, Some(bounded)) => {
            let named = is_one_key(bounded) || question.entries;
            if named && unsorted && !question.changes {
                return Ok(stream(collection, bounded, true));
            }
            let plan = drain(look, collection, bounded, (ENTRIES_MAX, false)).await?;
            let plan = plan.map(|plan| Plan {
                sorted: unsorted || plan.sorted,
                ..plan
            });
            Ok(plan.unwrap_or_else(|| Plan::all(false, collection, unsorted)))
        }
        (None, None) => match search::narrow(look, question.filter).await? {
            Some(plan) => Ok(Plan {
                sorted: unsorted,
                ..plan
            }),
            None => Ok(Plan::all(false, collection, unsorted)),
        },
    }
}

/// Whether all entries have one value: then they lie in the order of creation.
fn is_one_key(candidate: &Candidate<'_>) -> bool {
    let fields = 0..candidate.bounds.fields.len();
    fields
        .into_iter()
        .all(|at| candidate.bounds.is_one_value(at))
}

/// Reads an index as documents are asked for.
fn stream(collection: &Collection, candidate: &Candidate<'_>, sorted: bool) -> Plan {
    let (stem_fields, reverse) = match candidate.gives {
        Some(Gives::Entries {
            stem_fields,
            reverse,
        }) => (stem_fields, reverse),
        Some(Gives::Any) | None => (0, false),
    };
    let branches = candidate
        .bounds
        .branches(collection, candidate.index, stem_fields);
    let merged = branches.len();
    let scan = IndexScan::new(branches, reverse, candidate.notes.multikey);
    Plan {
        source: Source::Scan(Box::new(scan)),
        sorted,
        access: Access::index(candidate, reverse, merged),
        read: 0,
    }
}

/// Reads the keys an index names, each once, in its order or in that of creation; nothing, if they are too many.
async fn drain(
    look: &Look<'_>,
    collection: &Collection,
    candidate: &Candidate<'_>,
    (max, in_order): (usize, bool),
) -> Result<Option<Plan>> {
    let mut found: Vec<(u64, ItemKey)> = Vec::new();
    let mut read = 0;
    let branches = candidate.bounds.branches(collection, candidate.index, 0);
    for mut span in branches.into_iter().flat_map(|(_, spans)| spans) {
        loop {
            let step = STEP_ENTRIES.min(max.saturating_add(1));
            let page = look.view.entries(collection, span, false, step).await?;
            read += page.read;
            let entries = page.entries.iter();
            found.extend(entries.map(|entry| (entry.ordinal, entry.item.clone())));
            if found.len() > max {
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
    let keys = found.into_iter().map(|(_, key)| key).collect();
    Ok(Some(Plan {
        source: Source::Keys(Arc::new(keys)),
        sorted: candidate.gives == Some(Gives::Any),
        access: Access::index(candidate, false, 1),
        read,
    }))
}
