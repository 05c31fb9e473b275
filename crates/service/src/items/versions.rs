//! Reads every change of a collection, a partition or a range: each version, each deletion and each expiry, in order.

use lapsedb_store::{ChangeLimits, Event, EventPlace, Events, ItemRange, Source};

use crate::charge;
use crate::ctx::{Ctx, Scope};
use crate::error::{Error, Result};
use crate::items::changes::{beyond_the_log, open};
use crate::items::feed::Selection;

/// Expiries told before another look is taken.
const STEP_EXPIRIES: u64 = 1024;

/// How often telling may come to nothing before the page is answered as it is.
const TELL_TRIES_MAX: usize = 10;

/// Where a reader begins: versions are kept from the first reader on, so there is no beginning and no point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
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
    /// Events of a page at most; none if the server may choose. One commit's events are never split over pages.
    pub items_max: Option<usize>,
}

/// A page of events.
pub struct VersionsPage {
    /// Where they were found.
    pub scope: Scope,
    /// The events in order; none if nothing has happened.
    pub events: Vec<Event>,
    /// The last commit the reader has now seen.
    pub next: u64,
    /// What it cost.
    pub charge: f64,
}

/// One page of events. Without events the reader has seen everything, expiries that are due included.
///
/// # Errors
/// When the collection is not there, the selection does not fit it, the start is kept no longer or lies beyond the log, or
/// who asks may not read it.
pub async fn versions(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    request: &Request,
) -> Result<VersionsPage> {
    let asked = (&request.selection, request.items_max);
    let (scope, range, limits) = open(ctx, address, intended, asked).await?;
    let throughputs = ctx.service().throughputs();
    let found = match request.start {
        Start::Now => {
            may_begin(ctx, &scope, &request.selection)?;
            begin(ctx, scope, address, intended).await?
        }
        Start::After(lsn) => follow(ctx, scope, address, intended, &range, lsn, limits).await?,
    };
    let bytes = found.events.iter().map(size).sum();
    let charge = charge::feed(bytes);
    throughputs.spend(&found.scope.view, &found.scope.collection, charge);
    Ok(VersionsPage { charge, ..found })
}

/// Whether a reader may begin where no versions are kept yet: that makes every write cost more and take more room from then on,
/// so it is for who may write.
fn may_begin(ctx: &Ctx, scope: &Scope, selection: &Selection) -> Result<()> {
    let collection = &scope.collection;
    if collection.history.kept {
        return Ok(());
    }
    let partition = selection.partition.as_ref();
    let allowed = ctx.who.may_write_items(collection, partition);
    allowed.map_err(|_| {
        Error::forbidden(
            "This container does not keep versions yet, and reading them would begin it, which needs a key or token that may write. Once somebody who may write has read them from now on, others may.",
        )
    })
}

/// Begins to follow: whatever has happened by now, expiries included, lies behind the reader.
async fn begin(
    ctx: &Ctx,
    scope: Scope,
    address: (&str, &str),
    intended: Option<&str>,
) -> Result<VersionsPage> {
    let store = ctx.service().store();
    store.keep_versions(scope.collection.cid).await?;
    store.tell_expiries(scope.collection.cid, u64::MAX).await?;
    let scope = ctx.scope(address.0, address.1).await?;
    scope.expect_rid(intended)?;
    Ok(VersionsPage {
        events: Vec::new(),
        next: scope.view.lsn(),
        charge: 0.0,
        scope,
    })
}

/// The next events behind a commit. When they end with the last, all expiries that are due are among them or before them.
async fn follow(
    ctx: &Ctx,
    mut scope: Scope,
    address: (&str, &str),
    intended: Option<&str>,
    range: &ItemRange,
    lsn: u64,
    limits: ChangeLimits,
) -> Result<VersionsPage> {
    if lsn > scope.view.lsn() {
        return Err(beyond_the_log(&scope, lsn));
    }
    let store = ctx.service().store();
    let mut after = EventPlace::end_of(lsn);
    if scope.collection.history.kept {
        store.keep_versions(scope.collection.cid).await?;
    }
    let mut slower = 0;
    loop {
        let source = Source::Items(&scope.collection, range);
        let page = match scope.view.events(&[source], after, limits).await? {
            Events::Forgotten => return Err(forgotten(&scope, lsn)),
            Events::Page(page) => page,
        };
        let due = page.caught_up
            && slower < TELL_TRIES_MAX
            && scope.view.expiries_due(&scope.collection).await?;
        if due {
            let told = store
                .tell_expiries(scope.collection.cid, STEP_EXPIRIES)
                .await?;
            // None told means that somebody else was faster, or that a suspect clock lets nothing be told.
            slower += usize::from(told == 0);
            scope = ctx.scope(address.0, address.1).await?;
            scope.expect_rid(intended)?;
        } else if page.caught_up || !page.events.is_empty() {
            return Ok(VersionsPage {
                events: page.events,
                next: page.next.lsn,
                charge: 0.0,
                scope,
            });
        } else {
            // Readers take a page without events for the end, so one that found none yet goes on.
            after = page.next;
            tokio::task::yield_now().await;
        }
    }
}

/// Bytes of the image that is shown: the version before it only where there is none behind it.
fn size(event: &Event) -> usize {
    let image = event.current.as_ref().or(event.previous.as_ref());
    image.map_or(0, |image| {
        usize::try_from(image.header().charged).unwrap_or(usize::MAX)
    })
}

fn forgotten(scope: &Scope, lsn: u64) -> Error {
    let minutes = scope.collection.retention().0 / 60;
    Error::bad_request(format!(
        "You must read the change feed from within the retention period. The change feed cursor \"{lsn}\" lies before the versions this container keeps (retention: {minutes} minutes; without a changeFeedPolicy they are kept from the first reader on); read from now on with If-None-Match: *."
    ))
}
