//! Cursors: what a query still has to give, fetched batch by batch.
//!
//! A cursor holds no snapshot. Each batch is read in a view of its own time, so that nothing that has died is in it.

mod batch;
mod get_more;
mod handed_out;
mod held;
mod idle;
mod kill;
mod piped;
mod query;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lapsedb_record::Clock;
use lapsedb_value::account::WhenStopped;
use lapsedb_value::budget::{self, Stop};
use lapsedb_value::{Budget, Object};
use parking_lot::Mutex;

use crate::changes::Changes;
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::{Look, Namespace, Needs, Work};
use crate::logins::action::Action;
use crate::sessions::{Kept, SessionId};

pub(crate) use batch::Room;
pub use get_more::{GetMore, get_more};
pub(crate) use handed_out::HandedOut;
pub(crate) use held::{Held, HeldDocument, Origin};
use idle::Usage;
pub use kill::{Killed, kill};
pub(crate) use piped::Piped;
pub use query::Tail;
pub(crate) use query::{KeyOf, Query, Shows, Tally, encoded};

/// Cursors open at once.
const CURSORS_MAX: usize = 10_000;
/// How long a cursor may be idle, in seconds.
const IDLE_SECONDS_MAX: u64 = 600;

/// A batch of documents, each as BSON.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Where to fetch the next batch; 0 at the end.
    pub cursor: i64,
    /// What was asked.
    pub namespace: Namespace,
    /// The documents.
    pub documents: Vec<Bytes>,
    /// Where a stream of changes may be resumed.
    pub resume_token: Option<Object>,
    /// The time stamp of the state that was read, if clients may come back to it.
    pub read_at: Option<u64>,
    /// What counts the documents, if they are counted.
    pub held: Option<Arc<budget::Held>>,
}

/// What a cursor still has to give.
pub(crate) enum Feed {
    /// Documents as they are found.
    Query(Box<Query>),
    /// Documents that were found and put in order.
    Held(Held),
    /// Documents as a pipeline makes them.
    Piped(Box<Piped>),
    /// What happens to documents.
    Changes(Box<Changes>),
}

impl Feed {
    /// The next documents, and whether those were the last.
    pub(crate) async fn next(
        &mut self,
        work: &Work,
        look: &Look<'_>,
        room: &mut Room,
    ) -> Result<bool> {
        match self {
            Feed::Query(query) => query.next(work, look, room).await,
            Feed::Held(held) => held.next(look, room).await,
            Feed::Piped(piped) => piped.next(work, look, room).await,
            Feed::Changes(changes) => changes.next(work, room).await,
        }
    }
}

impl Feed {
    /// The collection it reads, if that may be another than the one it is known by.
    fn base(&self) -> Option<&Namespace> {
        match self {
            Feed::Piped(piped) => Some(&piped.base),
            Feed::Query(_) | Feed::Held(_) | Feed::Changes(_) => None,
        }
    }

    /// Where a stream of changes may be resumed.
    fn resume_token(&self) -> Option<Object> {
        match self {
            Feed::Changes(changes) => changes.resume_token(),
            Feed::Query(_) | Feed::Held(_) | Feed::Piped(_) => None,
        }
    }

    /// Entries of indexes and documents that it has looked at, where they are counted.
    fn examined(&self) -> Option<(u64, u64)> {
        let tally = match self {
            Feed::Query(query) => &query.tally,
            Feed::Piped(piped) => &piped.tally,
            Feed::Held(_) | Feed::Changes(_) => return None,
        };
        Some((tally.keys, tally.documents))
    }

    /// Whether a batch may wait for what is to come.
    const fn waits(&self) -> bool {
        match self {
            Feed::Changes(_) => true,
            Feed::Query(query) => matches!(query.tail, Some(Tail { waits: true })),
            Feed::Held(_) | Feed::Piped(_) => false,
        }
    }

    /// Whether it has come to the end of a collection and waits there; streams of changes wait by themselves.
    fn waits_here(&self) -> bool {
        self.waits() && matches!(self, Feed::Query(_))
    }
}

/// One open cursor.
pub(crate) struct Cursor {
    /// The login that opened it, where there are logins.
    pub(crate) owner: Option<Arc<str>>,
    pub(crate) namespace: Namespace,
    /// What whoever fetches from it must have the rights to.
    pub(crate) needs: Needs,
    pub(crate) feed: Feed,
    pub(crate) no_timeout: bool,
    /// The session and the transaction in which it was opened.
    pub(crate) place: Option<(SessionId, Option<i64>)>,
    /// The state of the store that it reads, if it is not the newest of each batch.
    pub(crate) kept: Option<Kept>,
    /// What is left of the time that all its batches together may take.
    pub(crate) time_left: Option<Duration>,
    /// What evaluating it may use; each batch says until when.
    pub(crate) budget: Arc<Budget>,
    /// What is shown of it while it waits for its client.
    usage: Usage,
}

struct Slot {
    owner: Option<Arc<str>>,
    namespace: Namespace,
    /// Why it was stopped instead, if the memory of all requests was used up while it was the one that held most.
    cursor: std::result::Result<Arc<tokio::sync::Mutex<Cursor>>, Stop>,
    used: Instant,
    no_timeout: bool,
    session: Option<SessionId>,
    stream: bool,
    _when_stopped: Option<WhenStopped>,
}

type Slots = Mutex<HashMap<i64, Slot>>;

/// All open cursors.
#[derive(Default)]
pub(crate) struct Cursors {
    slots: Arc<Slots>,
}

impl Cursors {
    pub(crate) fn len(&self) -> usize {
        self.slots.lock().len()
    }

    /// Keeps a cursor, and says its number.
    pub(crate) fn keep(&self, cursor: Cursor) -> Result<i64> {
        let mut slots = self.slots.lock();
        let now = Clock::monotonic();
        if slots.len() >= CURSORS_MAX {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!(
                    "{CURSORS_MAX} cursors are open, which is the most there may be; close some"
                ),
            ));
        }
        let id = loop {
            let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
            let id = i64::try_from(high >> 1).unwrap_or(0);
            if id != 0 && !slots.contains_key(&id) {
                break id;
            }
        };
        let no_timeout = cursor.no_timeout;
        let owner = cursor.owner.clone();
        let namespace = cursor.namespace.clone();
        let session = cursor.place.as_ref().map(|(session, _)| session.clone());
        let stream = matches!(cursor.feed, Feed::Changes(_));
        let budget = Arc::clone(&cursor.budget);
        let cursor = Arc::new(tokio::sync::Mutex::new(cursor));
        slots.insert(
            id,
            Slot {
                owner,
                namespace,
                cursor: Ok(cursor),
                used: now,
                no_timeout,
                session,
                stream,
                _when_stopped: None,
            },
        );
        drop(slots);
        let guard = self.stop_with(&budget, id);
        if let Some(slot) = self.slots.lock().get_mut(&id) {
            slot._when_stopped = Some(guard);
        }
        Ok(id)
    }

    /// Lets go of what a cursor holds when its budget is stopped, even if nobody fetches from it.
    fn stop_with(&self, budget: &Budget, id: i64) -> WhenStopped {
        let slots = Arc::downgrade(&self.slots);
        budget.when_stopped(Arc::new(move |stop| {
            let Some(slots) = slots.upgrade() else {
                return;
            };
            let slot = |slot: &mut Slot| std::mem::replace(&mut slot.cursor, Err(stop));
            let let_go = slots.lock().get_mut(&id).map(slot);
            // Without the lock: what it holds may be much.
            drop(let_go);
        }))
    }

    /// Closes what was idle too long.
    pub(crate) fn sweep(&self) {
        self.sweep_at(Clock::monotonic());
    }

    fn sweep_at(&self, now: Instant) {
        let idle = Duration::from_secs(IDLE_SECONDS_MAX);
        self.slots.lock().retain(|_, slot| {
            // One that was stopped is kept only to say why.
            let stays = slot.no_timeout && slot.cursor.is_ok();
            stays || now.saturating_duration_since(slot.used) < idle
        });
    }

    /// The cursor of a number, if it is there and has not been idle too long.
    fn find(&self, id: i64) -> Result<Arc<tokio::sync::Mutex<Cursor>>> {
        self.find_at(id, Clock::monotonic())
    }

    fn find_at(&self, id: i64, now: Instant) -> Result<Arc<tokio::sync::Mutex<Cursor>>> {
        let mut slots = self.slots.lock();
        let idle = Duration::from_secs(IDLE_SECONDS_MAX);
        let gone = || Fault::new(code::CURSOR_NOT_FOUND, format!("cursor id {id} not found"));
        let slot = slots.get_mut(&id).ok_or_else(gone)?;
        if !slot.no_timeout && now.saturating_duration_since(slot.used) >= idle {
            slots.remove(&id);
            return Err(gone());
        }
        slot.used = now;
        match &slot.cursor {
            Ok(cursor) => Ok(Arc::clone(cursor)),
            Err(stop) => {
                let fault = Fault::from(*stop);
                slots.remove(&id);
                Err(fault)
            }
        }
    }

    /// Whether a cursor gives a stream of changes.
    pub(crate) fn is_stream(&self, id: i64) -> bool {
        self.slots.lock().get(&id).is_some_and(|slot| slot.stream)
    }

    /// Closes the cursors of sessions.
    pub(crate) fn close_of(&self, which: impl Fn(&SessionId) -> bool) {
        self.slots
            .lock()
            .retain(|_, slot| !slot.session.as_ref().is_some_and(&which));
    }

    fn remove(&self, id: i64) -> bool {
        self.slots.lock().remove(&id).is_some()
    }

    /// Whether a request may close a cursor: its own, or any on a collection where it has the right to. One that is not there
    /// hurts nobody.
    fn may_close(&self, ctx: &Ctx, id: i64) -> bool {
        let slots = self.slots.lock();
        let Some(slot) = slots.get(&id) else {
            return true;
        };
        ctx.shares_with(slot.owner.as_deref())
            || Needs::Own(Action::KillAnyCursor).are_met(ctx, &slot.namespace)
    }
}

/// The first batch of a feed; what is left is kept under a number.
///
/// # Errors
/// When the engine fails, or there are too many cursors.
pub(crate) async fn open(
    work: &Work,
    look: &Look<'_>,
    namespace: &Namespace,
    mut feed: Feed,
    mut room: Room,
    keep: Keep,
) -> Result<Batch> {
    let ended = room.is_none() || feed.next(work, look, &mut room).await?;
    let ended = ended && !room.is_none();
    let resume_token = feed.resume_token();
    if let Some(stop) = work.memory().stopped() {
        return Err(stop.into());
    }
    if let Some((keys, documents)) = feed.examined() {
        work.examined(keys, documents);
    }
    let (documents, held) = room.into_documents();
    let cursor = if ended || keep.single_batch {
        0
    } else {
        // Where batches wait, the time was that of the first alone.
        let time_left = work.time_left().filter(|_| !feed.waits());
        let cursor = Cursor {
            owner: work.ctx.login.clone(),
            namespace: namespace.clone(),
            needs: keep.needs,
            feed,
            no_timeout: keep.no_timeout,
            place: work.owner(),
            kept: work.kept().cloned(),
            time_left,
            budget: Arc::clone(work.budget()),
            usage: Usage::new(work, documents.len()),
        };
        pause(&cursor.budget);
        work.ctx.service().documents_state().cursors.keep(cursor)?
    };
    Ok(Batch {
        cursor,
        namespace: namespace.clone(),
        documents,
        resume_token,
        read_at: work.read_stamp(),
        held: Some(held),
    })
}

/// A cursor waits for its next batch: it keeps what its rows take, and no more.
fn pause(budget: &Budget) {
    budget.set_scratch(0);
    budget.give_back();
}

/// The first batch of a list that comes from no collection; what is left is kept under a number.
///
/// # Errors
/// When there are too many cursors.
pub fn list(
    work: &Work,
    namespace: &Namespace,
    needs: Needs,
    documents: Vec<Bytes>,
    size: Option<usize>,
) -> Result<Batch> {
    let one = |body| HeldDocument { body, origin: None };
    let mut held = Held::new(documents.into_iter().map(one), None, work.memory());
    let mut room = Room::new(size, work.memory());
    let mut cursor = 0;
    let is_left = room.is_none() || !held.first(&mut room);
    let (documents, counted) = room.into_documents();
    if is_left {
        let left = Cursor {
            owner: work.ctx.login.clone(),
            namespace: namespace.clone(),
            needs,
            feed: Feed::Held(held),
            no_timeout: false,
            place: work.owner(),
            kept: None,
            time_left: None,
            budget: Arc::clone(work.budget()),
            usage: Usage::new(work, documents.len()),
        };
        cursor = work.ctx.service().documents_state().cursors.keep(left)?;
    }
    Ok(Batch {
        cursor,
        namespace: namespace.clone(),
        documents,
        resume_token: None,
        read_at: None,
        held: Some(counted),
    })
}

/// Whether and how what is left is kept.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    /// What whoever fetches from it must have the rights to.
    pub(crate) needs: Needs,
    pub(crate) single_batch: bool,
    pub(crate) no_timeout: bool,
}

#[cfg(test)]
mod tests;
