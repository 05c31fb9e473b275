//! Reads documents.

use lapsedb_store::Collection;
use lapsedb_value::{Object, Value};

use crate::charge::{self, QueryWork};
use crate::cursors::{self, Batch, Feed, Held, HeldDocument, Keep, Query, Room, Tail, encoded};
use crate::documents::FIRST_BATCH_DOCUMENTS;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::kept::cap_of;
use crate::documents::language::{Match, Sort, Terms};
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::views;
use crate::documents::walk::{Source, Walk};
use crate::documents::work::Work;
use crate::documents::{Needed, Row};

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
    /// It goes on at the end of a capped collection.
    pub tail: Option<Tail>,
}

/// The first batch of what matches.
///
/// # Errors
/// When the filter is wrong, its time is up, or the engine fails.
pub async fn find(work: &mut Work, namespace: &Namespace, find: &Find) -> Result<Batch> {
    let language = find.terms.language(work, namespace).await?;
    let filter = language.filter(&find.filter)?;
    let language = language.behind(&filter);
    let projection = language.projection(&find.projection)?;
    let sort = language.sort(&find.sort)?;
    let look = match Look::fresh(work, namespace).await {
        Ok(look) => look,
        Err(fault) => {
            return match views::resolved(work, namespace).await? {
                Some(resolved) => views::find(work, namespace, &resolved, find).await,
                None => Err(fault),
            };
        }
    };
    let walk = match (find.tail, &look.collection) {
        (Some(_), Some(collection)) => {
            check_tail(find, collection)?;
            Walk::new(Source::Everything)
        }
        (Some(_), None) => Walk::new(Source::Ids(Vec::new())),
        (None, _) => language.walk(&look, &filter).await?,
    };
    let query = Query {
        walk,
        needed: Needed::by(&filter),
        tail: find.tail.filter(|_| look.collection.is_some()),
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

/// Refuses to wait where nothing stays in the order of its insertion, or to wait in another order.
fn check_tail(find: &Find, collection: &Collection) -> Result<()> {
    let natural = find.sort.get("$natural").and_then(Value::as_f64) == Some(1.0);
    let message = match () {
        () if !find.sort.is_empty() && !natural => {
            "cannot use tailable option with a sort other than {$natural: 1}"
        }
        () if find.single_batch => "cannot use tailable option with the 'singleBatch' option",
        () if cap_of(collection).is_none() => {
            "error processing query: tailable cursor requested on non capped collection"
        }
        () => return Ok(()),
    };
    Err(Fault::new(code::BAD_VALUE, message))
}

/// Bytes of documents that are put in order in memory at most.
const SORT_BYTES_MAX: usize = 100 * 1024 * 1024;
/// Documents that are found before those too many are dropped for the first time.
const SORT_ROWS_MIN: usize = 1024;

/// A document that was found, and what it is ordered by.
struct Found {
    key: Vec<Value>,
    row: Row,
    position: Match,
}

/// All that a query finds, in order; with a limit, only so many are held.
async fn sorted(work: &Work, look: &Look<'_>, mut query: Query, sort: &Sort) -> Result<Held> {
    let needed = Needed::by(&query.filter).and_by(sort);
    let skip = usize::try_from(query.skip).unwrap_or(usize::MAX);
    let limit = usize::try_from(query.left).unwrap_or(usize::MAX);
    let wanted = skip.saturating_add(limit);
    let mut found: Vec<Found> = Vec::new();
    let (mut bytes, mut loaded) = (0, QueryWork::default());
    while !query.walk.ended() {
        work.in_time()?;
        for row in query.walk.next(look, STEP_ROWS).await? {
            loaded.loaded_bytes += row.body.len();
            let document = needed.read(&row.body)?;
            let Some(position) = query.filter.match_with_position(&document)? else {
                continue;
            };
            bytes += row.body.len();
            let key = sort.key_beside(&document, position.score, position.distance)?;
            found.push(Found { key, row, position });
        }
        // Only the first ones are ever given, so the others go as soon as they are many.
        if found.len() >= wanted.saturating_mul(2).max(SORT_ROWS_MIN) {
            put_in_order(&mut found, sort, wanted);
            bytes = found.iter().map(|found| found.row.body.len()).sum();
        }
        if bytes > SORT_BYTES_MAX {
            return Err(Fault::new(
                code::MEMORY_LIMIT,
                format!("Sort exceeded memory limit of {SORT_BYTES_MAX} bytes"),
            ));
        }
    }
    look.spend(&work.ctx, charge::query(loaded));
    put_in_order(&mut found, sort, wanted);
    let mut held = Vec::with_capacity(found.len().saturating_sub(skip));
    for Found { key, row, position } in found.into_iter().skip(skip) {
        let body = match &query.projection {
            None => row.body,
            Some(projection) => {
                encoded(&projection.apply(row.document()?, position, Some(&key))?)
            }
        };
        held.push(HeldDocument {
            body,
            origin: Some((row.key, row.ordinal)),
        });
    }
    Ok(Held::new(held))
}

/// Puts what was found in order, ties as they came, and drops what is behind the first `wanted`.
fn put_in_order(found: &mut Vec<Found>, sort: &Sort, wanted: usize) {
    found.sort_by(|a, b| sort.compare_keys(&a.key, &b.key));
    found.truncate(wanted);
}
