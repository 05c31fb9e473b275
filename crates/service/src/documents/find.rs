//! Reads documents.

use lapsedb_value::Object;

use crate::charge::{self, QueryWork};
use crate::cursors::{self, Batch, Feed, Held, HeldDocument, Keep, Query, Room, encoded};
use crate::documents::FIRST_BATCH_DOCUMENTS;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::language::{Sort, Terms};
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;

/// Documents looked at between two looks at the clock.
const STEP_ROWS: usize = 256;

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Find {
    /// Which documents.
    pub filter: Object,
    /// What of them.
    pub projection: Object,
    /// In which order.
    pub sort: Object,
    /// How many are passed over.
    pub skip: u64,
    /// How many come at most; 0 means all.
    pub limit: u64,
    /// How many come at once.
    pub batch_size: Option<usize>,
    /// No cursor is wanted for the rest.
    pub single_batch: bool,
    /// The cursor does not end by being idle.
    pub no_timeout: bool,
    /// How texts compare and which variables there are.
    pub terms: Terms,
}

/// The first batch of what matches.
///
/// # Errors
/// When the filter is wrong, its time is up, or the engine fails.
pub async fn find(work: &mut Work, namespace: &Namespace, find: &Find) -> Result<Batch> {
    let language = find.terms.language(work, namespace).await?;
    let filter = language.filter(&find.filter)?;
    let projection = language.projection(&find.projection)?;
    let sort = language.sort(&find.sort)?;
    let look = Look::fresh(work, namespace).await?;
    let query = Query {
        walk: language.walk(&look, &filter).await?,
        filter,
        projection,
        skip: find.skip,
        left: if find.limit == 0 {
            u64::MAX
        } else {
            find.limit
        },
    };
    let feed = match sort {
        None => Feed::Query(Box::new(query)),
        Some(sort) => Feed::Held(sorted(work, &look, query, &sort).await?),
    };
    let room = Room::new(Some(find.batch_size.unwrap_or(FIRST_BATCH_DOCUMENTS)));
    let keep = Keep {
        single_batch: find.single_batch,
        no_timeout: find.no_timeout,
    };
    cursors::open(work, &look, namespace, feed, room, keep).await
}

/// Bytes of documents that are put in order in memory at most.
const SORT_BYTES_MAX: usize = 100 * 1024 * 1024;

/// All that a query finds, in order.
async fn sorted(work: &Work, look: &Look<'_>, mut query: Query, sort: &Sort) -> Result<Held> {
    let mut found = Vec::new();
    let (mut bytes, mut loaded) = (0, QueryWork::default());
    while !query.walk.ended() {
        work.in_time()?;
        for row in query.walk.next(look, STEP_ROWS).await? {
            loaded.loaded_bytes += row.body.len();
            let document = row.document()?;
            let Some(position) = query.filter.match_with_position(&document)? else {
                continue;
            };
            bytes += row.body.len();
            if bytes > SORT_BYTES_MAX {
                return Err(Fault::new(
                    code::MEMORY_LIMIT,
                    format!("Sort exceeded memory limit of {SORT_BYTES_MAX} bytes"),
                ));
            }
            found.push((sort.key(&document)?, row, document, position));
        }
    }
    look.spend(&work.ctx, charge::query(loaded));
    found.sort_by(|(a, ..), (b, ..)| sort.compare_keys(a, b));
    let skip = usize::try_from(query.skip).unwrap_or(usize::MAX);
    let limit = usize::try_from(query.left).unwrap_or(usize::MAX);
    let mut held = Vec::with_capacity(found.len().min(limit));
    for (key, row, document, position) in found.into_iter().skip(skip).take(limit) {
        let body = match &query.projection {
            None => row.body,
            Some(projection) => encoded(&projection.apply(document, position, Some(&key))?),
        };
        held.push(HeldDocument {
            body,
            origin: Some((row.key, row.ordinal)),
        });
    }
    Ok(Held::new(held))
}
