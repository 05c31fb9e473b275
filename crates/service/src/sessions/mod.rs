//! Sessions of Mongo clients: transactions under way, and retryable writes.
//!
//! What must outlive the process is a note in the store; the rest is memory, and a transaction that was under way when the
//! process ended has never happened.

mod abort;
mod begin;
mod commit;
mod overlay;
mod retry;
mod transaction;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lapsedb_record::Clock;
use lapsedb_store::ItemKey;
use parking_lot::Mutex;

use crate::documents::fault::{Fault, Result, code};

pub use abort::abort;
pub(crate) use abort::unmake;
pub use begin::{Asked, begin};
pub(crate) use commit::changed_since;
pub use commit::commit;
pub(crate) use overlay::{Change, Overlay};
pub(crate) use retry::Retry;
pub(crate) use transaction::{Session, State, Transaction};

/// Sessions remembered at once.
const SESSIONS_MAX: usize = 100_000;
/// How long a session is remembered without being used, in seconds; also how long its notes are kept.
pub(crate) const SESSION_SECONDS: u64 = 1800;
/// How long a transaction may be idle, in seconds.
const TRANSACTION_IDLE_SECONDS: u64 = 60;

/// A session's number, as the client chose it.
pub type SessionId = Vec<u8>;

type Shared = Arc<tokio::sync::Mutex<Session>>;

/// All sessions of this process.
#[derive(Default)]
pub(crate) struct Sessions {
    all: Mutex<HashMap<SessionId, (Shared, Instant)>>,
    /// Which transaction has written a document that is not committed yet.
    intents: Mutex<HashMap<ItemKey, (SessionId, Instant)>>,
}

impl Sessions {
    /// The session of an id; a new one, if it is not known.
    fn session(&self, id: &SessionId) -> Result<Shared> {
        let now = Clock::monotonic();
        let mut all = self.all.lock();
        if let Some((session, used)) = all.get_mut(id) {
            *used = now;
            return Ok(Arc::clone(session));
        }
        if all.len() >= SESSIONS_MAX {
            return Err(Fault::new(
                261,
                format!("{SESSIONS_MAX} sessions are known, which is the most there may be"),
            ));
        }
        let session = Arc::new(tokio::sync::Mutex::new(Session::default()));
        all.insert(id.clone(), (Arc::clone(&session), now));
        Ok(session)
    }

    /// Forgets sessions; their transactions have never happened.
    pub(crate) fn forget(&self, ids: &[SessionId]) {
        let mut all = self.all.lock();
        for id in ids {
            all.remove(id);
        }
        drop(all);
        self.intents
            .lock()
            .retain(|_, (holder, _)| !ids.contains(holder));
    }

    /// Forgets what was not used for too long.
    pub(crate) fn sweep(&self) {
        let now = Clock::monotonic();
        let old =
            |used: Instant, secs| now.saturating_duration_since(used) >= Duration::from_secs(secs);
        self.all.lock().retain(|_, (session, used)| {
            if old(*used, SESSION_SECONDS) {
                return false;
            }
            if let Ok(mut session) = session.try_lock() {
                session.end_if_idle();
            }
            true
        });
        self.intents
            .lock()
            .retain(|_, (_, since)| !old(*since, TRANSACTION_IDLE_SECONDS));
    }

    /// Claims documents for a transaction.
    ///
    /// # Errors
    /// When another transaction has one of them.
    pub(crate) fn claim(&self, id: &SessionId, keys: Vec<ItemKey>) -> Result<()> {
        let now = Clock::monotonic();
        let idle = Duration::from_secs(TRANSACTION_IDLE_SECONDS);
        let mut intents = self.intents.lock();
        let taken = |key: &ItemKey| {
            intents.get(key).is_some_and(|(holder, since)| {
                holder != id && now.saturating_duration_since(*since) < idle
            })
        };
        if keys.iter().any(taken) {
            return Err(write_conflict());
        }
        for key in keys {
            intents.insert(key, (id.clone(), now));
        }
        Ok(())
    }

    pub(crate) fn release(&self, id: &SessionId) {
        self.intents.lock().retain(|_, (holder, _)| holder != id);
    }
}

/// The answer to a transaction whose document another has changed.
pub(crate) fn write_conflict() -> Fault {
    Fault::new(
        code::WRITE_CONFLICT,
        "WriteConflict error: this operation conflicted with another operation. Please retry your operation or multi-document transaction.",
    )
}
