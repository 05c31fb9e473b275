//! Reads what changed in a collection, a partition or a range: each living item once, at its newest version.

use bytes::Bytes;
use lapsedb_record::{Live, Secs};
use lapsedb_store::{ChangeLimits, ChangesAfter, ItemKey, ItemRange};

use crate::charge;
use crate::ctx::{Ctx, Scope};
use crate::error::{Error, Result};
use crate::items::feed::Selection;
use crate::limits::{PAGE_BYTES_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};

/// Entries of the log, or events, read in one step; between steps other requests get their turn.
const STEP_ENTRIES: u64 = 1024;

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the oldest change.
    Beginning,
    /// With what changes from now on.
    Now,
    /// Behind this commit.
    After(u64),
}

/// What a reader asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which items.
    pub selection: Selection,
    /// Where to begin.
    pub start: Start,
    /// Only what was written after this second.
    pub since: Option<Secs>,
    /// Items of a page at most; none if the server may choose. One commit's changes are never split over pages.
    pub items_max: Option<usize>,
}

/// A page of changes.
pub struct ChangesPage {
    /// Where they were found.
    pub scope: Scope,
    /// The changed items in the order of their changes; none if nothing has changed.
    pub items: Vec<(ItemKey, Live<Bytes>)>,
    /// The last commit the reader has now seen.
    pub next: u64,
    /// What it cost.
    pub charge: f64,
}

/// One page of changes. Without items the reader has seen everything.
///
/// # Errors
/// When the collection is not there, the selection does not fit it, the start lies beyond the log, or who asks may not
/// read it.
pub async fn changes(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    request: &Request,
) -> Result<ChangesPage> {
    let asked = (&request.selection, request.items_max);
    let (scope, range, limits) = open(ctx, address, intended, asked).await?;
    let throughputs = ctx.service().throughputs();
    let mut after = begin(&scope, request).await?;
    let (mut by_key, mut tried) = (false, false);
    let items = loop {
        let (view, collection) = (&scope.view, &scope.collection);
        let found = match by_key {
            // A step of the log without a find: a small part of a large collection is found sooner by its keys.
            true => {
                view.changes_by_key(collection, &range, after, limits)
                    .await?
            }
            false => None,
        };
        let page = match found {
            Some(page) => page,
            None => view.changes(collection, &range, after, limits).await?,
        };
        // Tried once: a part that is too large for it stays so.
        by_key = !std::mem::replace(&mut tried, true);
        after.lsn = page.next;
        // Readers take a page without items for the end, so one that found none yet goes on.
        if page.caught_up || !page.items.is_empty() {
            break page.items;
        }
        tokio::task::yield_now().await;
    };
    let bytes = items.iter().map(|(_, item)| item.body().len()).sum();
    let charge = charge::feed(bytes);
    throughputs.spend(&scope.view, &scope.collection, charge);
    Ok(ChangesPage {
        scope,
        items,
        next: after.lsn,
        charge,
    })
}

/// Where a reader of changes reads, and how much of it in one step.
pub(crate) async fn open(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    (selection, items_max): (&Selection, Option<usize>),
) -> Result<(Scope, ItemRange, ChangeLimits)> {
    let scope = ctx.scope(address.0, address.1).await?;
    scope.expect_rid(intended)?;
    let partition = selection.partition.as_ref();
    ctx.who.may_read_items(&scope.collection, partition)?;
    let throughputs = ctx.service().throughputs();
    throughputs.admit(&scope.view, &scope.collection)?;
    let range = selection.range(&scope.collection)?;
    let limits = ChangeLimits {
        items_max: items_max
            .unwrap_or(PAGE_ITEMS_DEFAULT)
            .clamp(1, PAGE_ITEMS_MAX),
        bytes_max: PAGE_BYTES_MAX,
        entries_max: STEP_ENTRIES,
    };
    Ok((scope, range, limits))
}

/// The place in the log where a request begins.
async fn begin(scope: &Scope, request: &Request) -> Result<ChangesAfter> {
    // The second itself is not in it: a reader that stopped at a `_ts` has seen what was written then.
    let begin = request.since.map(|second| second.plus(Secs(1)));
    let since = begin.unwrap_or(Secs(0));
    let lsn = match (request.start, begin) {
        (Start::Now, _) => scope.view.lsn(),
        (Start::Beginning, None) => 0,
        (Start::Beginning, Some(begin)) => scope.view.lsn_before(&scope.collection, begin).await?,
        (Start::After(lsn), _) if lsn > scope.view.lsn() => {
            return Err(beyond_the_log(scope, lsn));
        }
        (Start::After(lsn), _) => lsn,
    };
    Ok(ChangesAfter { lsn, since })
}

/// A reader from the future would be blind until the log has come so far: rather it hears of it.
pub(crate) fn beyond_the_log(scope: &Scope, lsn: u64) -> Error {
    Error::bad_request(format!(
        "The change feed cursor \"{lsn}\" lies beyond the end of the log, which is {}; it is not of this store.",
        scope.view.lsn()
    ))
}
