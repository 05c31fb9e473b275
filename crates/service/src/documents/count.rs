//! Counts documents.

use lapsedb_value::Object;

use crate::charge::{self, QueryWork};
use crate::documents::fault::Result;
use crate::documents::language::{Filter, Language, Terms};
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::needed::Needed;
use crate::documents::plan::{Hint, Question, plan};
use crate::documents::scan::IndexScan;
use crate::documents::views;
use crate::documents::walk::{Source, Walk};
use crate::documents::work::Work;

/// Documents looked at between two looks at the clock.
const STEP_ROWS: usize = 256;
/// Entries looked at between two looks at the clock.
const STEP_ENTRIES: usize = 4096;

/// What to count.
#[derive(Clone, Debug, Default)]
pub struct Count {
    /// Which documents.
    pub filter: Object,
    /// How many of them are passed over.
    pub skip: u64,
    /// How many are counted at most; 0 means all.
    pub limit: u64,
    /// How texts compare and which variables there are.
    pub terms: Terms,
}

/// How many living documents match.
///
/// # Errors
/// When the filter is wrong, its time is up, or the engine fails.
pub async fn count(work: &mut Work, namespace: &Namespace, count: &Count) -> Result<u64> {
    let language = count.terms.language(work, namespace).await?;
    let filter = language.filter(&count.filter)?;
    let look = match Look::fresh(work, namespace).await {
        Ok(look) => look,
        Err(fault) => {
            return match views::resolved(work, namespace).await? {
                Some(resolved) => views::count(work, &resolved, count).await,
                None => Err(fault),
            };
        }
    };
    let (skip, limit) = (count.skip, count.limit);
    count_in(work, &look, &language, (&filter, skip, limit)).await
}

/// How many living documents match, those that are passed over not counted, and no more than a limit if it is not 0.
pub(crate) async fn count_in(
    work: &Work,
    look: &Look<'_>,
    language: &Language,
    (filter, skip, limit): (&Filter, u64, u64),
) -> Result<u64> {
    let Some(collection) = &look.collection else {
        return Ok(0);
    };
    let mut found = 0;
    if filter.is_everything() && matches!(language.hint, Hint::None) && look.overlay.is_none() {
        found = look.view.count(collection).await?;
        look.spend(&work.ctx, charge::query(QueryWork::default()));
    } else {
        let enough = match limit {
            0 => u64::MAX,
            limit => skip.saturating_add(limit),
        };
        let mut loaded = QueryWork::default();
        let needed = Needed::by(filter);
        let plan = plan(look, language, Question::counting(filter)).await?;
        let mut walk = match plan.counted() {
            Some(scan) => {
                found = entries(work, look, scan, enough).await?;
                Walk::new(Source::Ids(Vec::new()))
            }
            None => Walk::new(plan.source),
        };
        while !walk.ended() && found < enough {
            work.in_time().await?;
            for row in walk.next(look, STEP_ROWS).await? {
                loaded.loaded_bytes += row.body.len();
                found += u64::from(filter.matches(&needed.read(&row.body)?)?);
            }
        }
        look.spend(&work.ctx, charge::query(loaded));
    }
    let behind = found.saturating_sub(skip);
    Ok(match limit {
        0 => behind,
        limit => behind.min(limit),
    })
}

/// How many living documents an index names: no document is looked at.
async fn entries(work: &Work, look: &Look<'_>, scan: &IndexScan, enough: u64) -> Result<u64> {
    let Some(collection) = &look.collection else {
        return Ok(0);
    };
    let (mut scan, mut found) = (scan.clone(), 0u64);
    while found < enough {
        work.in_time().await?;
        let named = scan.next(&look.view, collection, STEP_ENTRIES).await?;
        if named.is_empty() {
            break;
        }
        found += named.len() as u64;
    }
    Ok(found)
}
