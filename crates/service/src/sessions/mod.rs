//! Sessions of Mongo clients: transactions under way, and retryable writes.
//!
//! What must outlive the process is a note in the store; the rest is memory, and a transaction that was under way when the
//! process ended has never happened.

mod abort;
mod begin;
mod commit;
mod idle;
mod kill;
mod overlay;
mod retry;
mod snapshots;
mod transaction;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lapsedb_record::Millis;
use lapsedb_value::{Object, Value};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::documents::fault::{Fault, Result, code};

pub use abort::{abort, give_up, lose_track};
pub use begin::{Asked, ReadAt, begin};
pub use commit::commit;
pub use kill::{Which, end_sessions, kill_sessions, list_sessions, refresh_sessions};
pub(crate) use overlay::{Change, Overlay};
pub(crate) use retry::Retry;
pub(crate) use snapshots::{Kept, Snapshots};
pub(crate) use transaction::{Session, State, Transaction};

/// Sessions remembered at once.
const SESSIONS_MAX: usize = 100_000;
/// How long a session is remembered without being used, in seconds; also how long its notes are kept.
pub const SESSION_SECONDS: u64 = 1800;
/// How long a transaction may last, in seconds, unless `transactionLifetimeLimitSeconds` says otherwise.
pub const TRANSACTION_SECONDS_DEFAULT: u64 = 60;
/// Documents that one transaction may change.
pub(crate) const TRANSACTION_DOCUMENTS_MAX: usize = 50_000;
/// Bytes of the documents that one transaction may write.
pub(crate) const TRANSACTION_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A session's number, as the client chose it, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId {
    /// The client's number.
    pub id: Vec<u8>,
    /// Who uses it: a digest of the user's name, the same for all who did not log in.
    pub user: [u8; 32],
}

impl SessionId {
    /// The digest of a user's name.
    #[must_use]
    pub fn user(name: &str, database: &str) -> [u8; 32] {
        Sha256::digest(format!("{name}@{database}").as_bytes()).into()
    }

    /// The digest of nobody, where no login is asked.
    #[must_use]
    pub fn nobody() -> [u8; 32] {
        Sha256::digest(b"").into()
    }

    /// As clients see it.
    pub(crate) fn shown(&self) -> Object {
        let binary = |subtype, bytes: &[u8]| Value::Binary {
            subtype,
            bytes: bytes.to_vec(),
        };
        let mut shown = Object::with_capacity(2);
        shown.push("id", binary(4, &self.id));
        shown.push("uid", binary(0, &self.user));
        shown
    }

    /// Both as one key.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.id.as_slice(), &self.user].concat()
    }
}

type Shared = Arc<tokio::sync::Mutex<Session>>;

/// A session in memory.
struct Slot {
    session: Shared,
    doomed: Arc<AtomicBool>,
    used: Millis,
}

/// All sessions of this process.
pub(crate) struct Sessions {
    all: Mutex<HashMap<SessionId, Slot>>,
    lifetime_secs: AtomicU64,
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions {
            all: Mutex::default(),
            lifetime_secs: AtomicU64::new(TRANSACTION_SECONDS_DEFAULT),
        }
    }
}

impl Sessions {
    /// How long a transaction may last, in seconds.
    pub(crate) fn lifetime_secs(&self) -> u64 {
        self.lifetime_secs.load(Ordering::Relaxed)
    }

    pub(crate) fn set_lifetime_secs(&self, secs: u64) {
        self.lifetime_secs.store(secs, Ordering::Relaxed);
    }

    fn lifetime_ms(&self) -> u64 {
        self.lifetime_secs().saturating_mul(1000)
    }

    /// The session of an id; a new one, if it is not known.
    fn session(&self, id: &SessionId, now: Millis) -> Result<Shared> {
        let mut all = self.all.lock();
        if let Some(slot) = all.get_mut(id) {
            slot.used = now;
            return Ok(Arc::clone(&slot.session));
        }
        if all.len() >= SESSIONS_MAX {
            return Err(Fault::new(
                code::TOO_MANY_SESSIONS,
                format!("{SESSIONS_MAX} sessions are known, which is the most there may be"),
            ));
        }
        let session = Session::default();
        let doomed = Arc::clone(&session.doomed);
        let session = Arc::new(tokio::sync::Mutex::new(session));
        let slot = Slot {
            session: Arc::clone(&session),
            doomed,
            used: now,
        };
        all.insert(id.clone(), slot);
        Ok(session)
    }

    /// A session was used, by a command that needs nothing of it: it is known from then on, if there is room.
    pub(crate) fn touch(&self, id: &SessionId, now: Millis) {
        let _ = self.session(id, now);
    }

    /// Ends the transactions of sessions; one whose command is under way ends with that. Says which sessions were known.
    fn doom(&self, which: impl Fn(&SessionId) -> bool, forget: bool) -> Vec<SessionId> {
        let mut all = self.all.lock();
        let mut found = Vec::new();
        for (id, slot) in all.iter().filter(|(id, _)| which(id)) {
            found.push(id.clone());
            slot.doomed.store(true, Ordering::SeqCst);
            if let Ok(mut session) = slot.session.try_lock() {
                session.end_if_over(Millis(0), u64::MAX);
            }
        }
        if forget {
            for id in &found {
                all.remove(id);
            }
        }
        found
    }

    /// Forgets what was not used for too long, and ends what lasts too long.
    pub(crate) fn sweep(&self, now: Millis) {
        let kept = SESSION_SECONDS.saturating_mul(1000);
        let lifetime = self.lifetime_ms();
        self.all.lock().retain(|_, slot| {
            if let Ok(mut session) = slot.session.try_lock() {
                session.end_if_over(now, lifetime);
            }
            now.0.saturating_sub(slot.used.0) < kept
        });
    }
}

/// The answer to a transaction whose document another has changed.
pub(crate) fn write_conflict() -> Fault {
    Fault::new(
        code::WRITE_CONFLICT,
        "WriteConflict error: this operation conflicted with another operation. Please retry your operation or multi-document transaction.",
    )
}
