//! Begins a change stream.

use lapsedb_mql::stages::{Pipeline, Runner};
use lapsedb_record::Secs;
use lapsedb_store::{CollectionId, EventPlace, Store, View};
use lapsedb_value::Object;

use crate::changes::follow::{Ahead, Lanes};
use crate::changes::options::{self, Options, Start};
use crate::changes::stream::Changes;
use crate::changes::structure::{invalidate, structure};
use crate::changes::{Scope, history_lost, split, token};
use crate::cursors::{self, Batch, Feed, Keep, Room};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::{Aggregate, FIRST_BATCH_DOCUMENTS, Look, Namespace, Needs, Work, views};

/// The number of the catalog's own events.
const CATALOG: CollectionId = CollectionId(0);

/// Begins a stream on a collection, a database or everything.
///
/// # Errors
/// When the options are wrong, or the place to resume at is not there any more.
pub(crate) async fn open(
    work: &mut Work,
    namespace: &Namespace,
    asked: &Object,
    (pipeline, splits): (&Pipeline, bool),
    (aggregate, needs): (&Aggregate, Needs),
) -> Result<Batch> {
    if work.in_transaction() {
        return Err(Fault::new(
            code::NOT_SUPPORTED_IN_TRANSACTION,
            "Operation not permitted in transaction :: caused by :: Aggregation stage $changeStream cannot run within a multi-document transaction.",
        ));
    }
    let options = options::read(namespace, asked)?;
    if let Some(stage) = pipeline.beyond_one() {
        return Err(Fault::new(
            code::ILLEGAL_OPERATION,
            format!("{stage} is not permitted in a $changeStream pipeline"),
        ));
    }
    may_begin(work, namespace, options.scope).await?;
    keep_all(work, namespace, options.scope).await?;
    let look = Look::fresh(work, namespace).await?;
    let store = look.work.ctx.service().store();
    let (after, not_before) = begin(store, &look.view, namespace, &options).await?;
    let within = match options.start {
        Start::Within(place, given) => Some((place, given)),
        Start::Now | Start::After(..) | Start::At(_) => None,
    };
    if within.is_some() && !splits {
        return Err(split::no_such_part());
    }
    let runner = Runner::new(pipeline);
    let mut stream = Changes::new(namespace.clone(), options, runner, after, not_before);
    stream.split(splits, within);
    if let Start::After(place, false) = options.start {
        end_if_over(work, &look.view, namespace, (&options, place), &mut stream).await?;
    }
    let documents_max = aggregate.batch_size.unwrap_or(FIRST_BATCH_DOCUMENTS);
    let room = Room::new(Some(documents_max), work.memory());
    let feed = Feed::Changes(Box::new(stream));
    let keep = Keep {
        needs,
        single_batch: false,
        no_timeout: false,
    };
    let mut batch = cursors::open(work, &look, namespace, feed, room, keep).await?;
    if batch.resume_token.is_none() {
        batch.resume_token = Some(token::write(after, false));
    }
    Ok(batch)
}

/// Behind which place the stream reads, and the time stamp before which nothing is told.
async fn begin(
    store: &Store,
    view: &View,
    namespace: &Namespace,
    options: &Options,
) -> Result<(EventPlace, u64)> {
    let watched = options.scope.watched(namespace);
    let since = view.catalog().watched_since(watched);
    let (floor, began) = since.ok_or_else(history_lost)?;
    match options.start {
        Start::Now => Ok((EventPlace::end_of(view.lsn()), 0)),
        Start::After(place, _) if place.lsn < floor => Err(history_lost()),
        Start::After(place, _) => Ok((place, 0)),
        Start::Within(place, _) if place.lsn <= floor => Err(history_lost()),
        Start::Within(place, _) => {
            let before = match place.index.checked_sub(1) {
                Some(index) => EventPlace { index, ..place },
                None => EventPlace::end_of(place.lsn.saturating_sub(1)),
            };
            Ok((before, 0))
        }
        Start::At(stamp) => {
            let second = Secs(stamp >> 32);
            if second < began || (second == began && stamp & 0xFFFF_FFFF < floor & 0xFFFF_FFFF) {
                return Err(history_lost());
            }
            let ahead = Ahead::behind(EventPlace::end_of(view.lsn()));
            let written = store.written_from(second);
            let lanes = ahead.lanes(view, (options.scope, namespace), written.as_deref());
            let before = before(view, &lanes, second).await?;
            Ok((EventPlace::end_of(before.max(floor)), stamp))
        }
    }
}

/// The commit right before the first that tells something of a second or later, of all that is followed. No lane has to be
/// kept from longer ago than that: seconds never fall along the log.
async fn before(view: &View, lanes: &Lanes, second: Secs) -> Result<u64> {
    let mut before = view.lsn();
    for cid in lanes.numbers().chain([CATALOG]) {
        if let Some(first) = view.versions_from(cid, second).await? {
            before = before.min(first.saturating_sub(1));
        }
    }
    Ok(before)
}

/// A stream that goes on behind the drop of its collection has only its end to tell.
async fn end_if_over(
    work: &Work,
    view: &View,
    namespace: &Namespace,
    (options, place): (&Options, EventPlace),
    stream: &mut Changes,
) -> Result<()> {
    let store = work.ctx.service().store();
    let events = store.catalog_events(view, place, true).await?;
    let Some(event) = events.first().filter(|event| event.place == place) else {
        return Ok(());
    };
    if structure(event, (options.scope, namespace), options).ends {
        stream.end(invalidate(event)).await?;
    }
    Ok(())
}

/// Refuses the read-only key where nothing is kept yet: keeping makes every write cost more from then on. Users whose roles only read
/// may begin it, as in MongoDB.
async fn may_begin(work: &Work, namespace: &Namespace, scope: Scope) -> Result<()> {
    if !work.ctx.read_only_key {
        return Ok(());
    }
    let view = work.ctx.view().await?;
    match view.catalog().watched_since(scope.watched(namespace)) {
        Some(_) => Ok(()),
        None => Err(Fault::new(
            code::UNAUTHORIZED,
            "no change stream has been opened here yet, and the read-only key may not open the first: a login that may write has to, or the server to be started with --change-streams-from-start",
        )),
    }
}

/// Has all that is followed be kept: what is there, and what will be made.
pub(crate) async fn keep_all(work: &Work, namespace: &Namespace, scope: Scope) -> Result<()> {
    let service = work.ctx.service();
    views::refuse(&work.ctx.view().await?, namespace)?;
    let watched = scope.watched(namespace);
    match scope {
        Scope::Everything | Scope::Database => {
            service.keep_watched(watched).await?;
            service.emit_due(u64::MAX).await?;
        }
        Scope::Collection => {
            let (store, retention) = (service.store(), service.config().change_retention);
            store.watch(watched, retention).await?;
            let view = work.ctx.view().await?;
            let ahead = Ahead::behind(EventPlace::end_of(view.lsn()));
            let lanes = ahead.lanes(&view, (scope, namespace), None);
            drop(view);
            for collection in &lanes.collections {
                let cid = collection.cid;
                store.keep_versions_for(cid, Some(retention)).await?;
                store.tell_expiries(cid, u64::MAX).await?;
            }
        }
    }
    Ok(())
}
