//! Counts documents.

use lapsedb_value::Object;

use crate::charge::{self, QueryWork};
use crate::documents::fault::Result;
use crate::documents::language::Terms;
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::needed::Needed;
use crate::documents::views;
use crate::documents::work::Work;

/// Documents looked at between two looks at the clock.
const STEP_ROWS: usize = 256;

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
    let Some(collection) = &look.collection else {
        return Ok(0);
    };
    let mut found = 0;
    if filter.is_everything() {
        found = look.view.count(collection).await?;
        look.spend(&work.ctx, charge::query(QueryWork::default()));
    } else {
        let enough = match count.limit {
            0 => u64::MAX,
            limit => count.skip.saturating_add(limit),
        };
        let mut loaded = QueryWork::default();
        let needed = Needed::by(&filter);
        let mut walk = language.walk(&look, &filter).await?;
        while !walk.ended() && found < enough {
            work.in_time()?;
            for row in walk.next(&look, STEP_ROWS).await? {
                loaded.loaded_bytes += row.body.len();
                found += u64::from(filter.matches(&needed.read(&row.body)?)?);
            }
        }
        look.spend(&work.ctx, charge::query(loaded));
    }
    let behind = found.saturating_sub(count.skip);
    Ok(match count.limit {
        0 => behind,
        limit => behind.min(limit),
    })
}
