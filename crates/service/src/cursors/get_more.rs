//! Fetches the next batch of a cursor.

use std::time::Duration;

use lapsedb_record::Clock;
use lapsedb_store::Listener;

use crate::cursors::{Batch, Cursor, Cursors, Feed, Room, pause};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::look::find_collection;
use crate::documents::{Look, Namespace, Work};
use crate::sessions::SessionId;

/// Code of a cursor that another request is fetching from right now.
const CURSOR_IN_USE: i32 = 12_051;

/// How long a batch waits for something to come, if the client does not say, in milliseconds.
const AWAIT_MS: u64 = 1000;
/// How long it waits between two looks, in milliseconds.
const LOOK_AGAIN_MS: u64 = 500;

/// What to fetch.
#[derive(Clone, Debug)]
pub struct GetMore {
    /// The cursor.
    pub cursor: i64,
    /// How many documents at most.
    pub batch_size: Option<usize>,
    /// Whether the client says how long it may take, which is for cursors that wait.
    pub is_timed: bool,
}

/// Closes a cursor whose batch panics: what was read for it is lost, so it must not go on as if nothing was missing.
pub(super) struct CloseOnPanic<'c>(pub(super) &'c Cursors, pub(super) i64);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.remove(self.1);
        }
    }
}

/// The next batch, in a view of its own time.
///
/// # Errors
/// When the cursor is not there, or another collection's, or in use, or the engine fails.
pub async fn get_more(work: &mut Work, namespace: &Namespace, more: &GetMore) -> Result<Batch> {
    let ctx = work.ctx.clone();
    let cursors = &ctx.service().documents_state().cursors;
    let found = cursors.find(more.cursor)?;
    let Ok(mut cursor) = found.try_lock() else {
        return Err(in_use(more.cursor));
    };
    check(work, &cursor, namespace, more)?;
    let _guard = CloseOnPanic(cursors, more.cursor);
    if let Feed::Changes(_) = &cursor.feed {
        // Its time is for waiting, and begins when it is ready to wait: what comes before cannot use it up.
        limit(work, &cursor, true);
        return changes(work, &mut cursor, more).await;
    }
    work.read_as(cursor.kept.clone());
    let base = cursor.feed.base().unwrap_or(namespace).clone();
    let before = cursor.feed.examined();
    let mut room = Room::new(more.batch_size, &cursor.budget);
    let until = Clock::monotonic() + work.limit().unwrap_or(Duration::from_millis(AWAIT_MS));
    let waits = cursor.feed.waits_here();
    limit(work, &cursor, waits);
    let cursors = &work.ctx.service().documents_state().cursors;
    let ended = loop {
        let listener = match waits {
            true => listen(work, &base).await?,
            false => None,
        };
        let look = Look::fresh(work, &base).await?;
        let next = match work.in_time().await {
            Ok(()) => cursor.feed.next(work, &look, &mut room).await,
            Err(fault) => Err(fault),
        };
        let ended = match next.and_then(|ended| unless_stopped(&cursor, ended)) {
            Ok(ended) => ended,
            Err(fault) => {
                cursors.remove(more.cursor);
                return Err(fault);
            }
        };
        let left = until.saturating_duration_since(Clock::monotonic());
        let Some(mut listener) = listener.filter(|_| !ended && room.is_empty() && !left.is_zero())
        else {
            break ended;
        };
        drop(look);
        work.in_time().await?;
        // A collection that is dropped makes no commit: look again now and then.
        let step = left.min(Duration::from_millis(LOOK_AGAIN_MS));
        let _ = tokio::time::timeout(step, listener.changed()).await;
        cursors.find(more.cursor)?;
    };
    if ended {
        cursors.remove(more.cursor);
    }
    note_examined(work, before, &cursor.feed);
    if cursor.time_left.is_some() {
        cursor.time_left = work.time_left();
    }
    pause(&cursor.budget);
    let (documents, held) = room.into_documents();
    cursor.usage.handed_out(work, documents.len());
    Ok(Batch {
        cursor: if ended { 0 } else { more.cursor },
        namespace: namespace.clone(),
        documents,
        held: Some(held),
        resume_token: cursor.feed.resume_token(),
        read_at: work.read_stamp(),
    })
}

/// Notes what a batch has looked at.
fn note_examined(work: &Work, before: Option<(u64, u64)>, feed: &Feed) {
    if let (Some(before), Some(now)) = (before, feed.examined()) {
        let keys = now.0.saturating_sub(before.0);
        work.examined(keys, now.1.saturating_sub(before.1));
    }
}

/// How a batch ended, unless it would hold too much together with all other requests.
fn unless_stopped(cursor: &Cursor, ended: bool) -> Result<bool> {
    match cursor.budget.stopped() {
        Some(stop) => Err(stop.into()),
        None => Ok(ended),
    }
}

/// Says until when a batch may take: as long as the cursor has left, or any request; one that waits is not limited by it.
fn limit(work: &mut Work, cursor: &Cursor, waits: bool) {
    if waits {
        work.without_deadline();
    } else if cursor.time_left.is_some() {
        work.go_on_within(cursor.time_left);
    }
    work.limit_budget(&cursor.budget);
}

/// The next batch of a stream. It waits by itself, and holds no view meanwhile.
async fn changes(work: &Work, cursor: &mut Cursor, more: &GetMore) -> Result<Batch> {
    let cursors = &work.ctx.service().documents_state().cursors;
    let mut room = Room::new(more.batch_size, &cursor.budget);
    let next = match &mut cursor.feed {
        Feed::Changes(changes) => changes.next(work, &mut room).await,
        Feed::Query(_) | Feed::Held(_) | Feed::Piped(_) => Ok(true),
    };
    if !matches!(next, Ok(false)) {
        cursors.remove(more.cursor);
    }
    let (documents, held) = room.into_documents();
    pause(&cursor.budget);
    cursor.usage.handed_out(work, documents.len());
    Ok(Batch {
        cursor: if next? { 0 } else { more.cursor },
        namespace: cursor.namespace.clone(),
        documents,
        held: Some(held),
        resume_token: cursor.feed.resume_token(),
        read_at: None,
    })
}

/// Hears of what is committed to a collection.
fn in_use(cursor: i64) -> Fault {
    let message = format!("cursor id {cursor} is already in use");
    Fault::new(CURSOR_IN_USE, message)
}

async fn listen(work: &Work, namespace: &Namespace) -> Result<Option<Listener>> {
    let view = work.ctx.view().await?;
    let store = work.ctx.service().store();
    Ok(find_collection(&view, namespace).map(|collection| store.listen(collection.cid)))
}

/// Refuses who may not fetch from a cursor, or not so.
fn check(work: &Work, cursor: &Cursor, namespace: &Namespace, more: &GetMore) -> Result<()> {
    if !work.ctx.shares_with(cursor.owner.as_deref()) {
        return Err(Fault::new(
            code::UNAUTHORIZED,
            format!(
                "cursor id {} was not created by the authenticated user",
                more.cursor
            ),
        ));
    }
    if cursor.namespace != *namespace {
        return Err(Fault::new(
            code::UNAUTHORIZED,
            format!(
                "Requested getMore on namespace '{namespace}', but cursor belongs to a different namespace {}",
                cursor.namespace
            ),
        ));
    }
    if !cursor.needs.are_met(&work.ctx, namespace) {
        return Err(Fault::new(
            code::UNAUTHORIZED,
            format!("not authorized for getMore with cursor id {}", more.cursor),
        ));
    }
    if more.is_timed && !cursor.feed.waits() && !work.in_transaction() {
        return Err(Fault::new(
            code::BAD_VALUE,
            "cannot set maxTimeMS on getMore command for a non-awaitData cursor",
        ));
    }
    same_place(work, more.cursor, cursor.place.as_ref())
}

/// Refuses a cursor that was opened in another session, or in another transaction.
fn same_place(work: &Work, id: i64, owner: Option<&(SessionId, Option<i64>)>) -> Result<()> {
    let asked = work.owner();
    let (opened, opened_in) = owner.map_or((None, None), |(id, number)| (Some(id), *number));
    let (asks, asks_in) = asked
        .as_ref()
        .map_or((None, None), |(id, number)| (Some(id), *number));
    let (code, why) = match (opened, asks) {
        (Some(_), None) => (50_737, "was created in a session, without an lsid"),
        (None, Some(_)) => (50_736, "was not created in a session, in a session"),
        (Some(opened), Some(asks)) if opened != asks => {
            (50_738, "was created in another session, in this session")
        }
        (Some(_), Some(_)) | (None, None) => match (opened_in, asks_in) {
            (Some(_), None) => (50_740, "was created in a transaction, outside of it"),
            (None, Some(_)) => (50_739, "was not created in a transaction, in a transaction"),
            (Some(opened), Some(asks)) if opened != asks => (
                50_741,
                "was created in another transaction, in this transaction",
            ),
            (Some(_), Some(_)) | (None, None) => return Ok(()),
        },
    };
    let message = format!("Cannot run getMore on cursor {id}, which {why}");
    Err(Fault::new(code, message))
}
