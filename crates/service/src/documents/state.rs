//! What the verbs on documents keep in memory: cursors, and how far time stamps have come.

use std::sync::atomic::{AtomicU64, Ordering};

use lapsedb_mql::expressions::Env;
use lapsedb_record::Millis;

use crate::cursors::Cursors;
use crate::documents::dateless::Dateless;
use crate::documents::ttl_monitor::TtlMonitor;
use crate::logins::roles::ResolvedRoles;
use crate::operations::Operations;
use crate::sessions::{Sessions, Snapshots};

/// The memory of the verbs on documents.
pub struct State {
    /// Results not yet fetched.
    pub(crate) cursors: Cursors,
    /// Sessions of clients.
    pub(crate) sessions: Sessions,
    /// TTL indexes that found no date.
    pub(crate) dateless: Dateless,
    /// States of the store that clients read more than once.
    pub(crate) snapshots: Snapshots,
    /// What roles grant.
    pub(crate) resolved_roles: ResolvedRoles,
    newest: AtomicU64,
    /// Commands under way, and counts of those that were.
    pub operations: Operations,
    /// What clients say of purging.
    pub ttl_monitor: TtlMonitor,
    /// Where the random numbers of commands come from.
    random: Env,
}

impl Default for State {
    fn default() -> State {
        let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
        State {
            cursors: Cursors::default(),
            sessions: Sessions::default(),
            dateless: Dateless::default(),
            ttl_monitor: TtlMonitor::default(),
            snapshots: Snapshots::default(),
            resolved_roles: ResolvedRoles::default(),
            newest: AtomicU64::default(),
            operations: Operations::default(),
            random: Env::new(0, seed),
        }
    }
}

impl State {
    /// What the random numbers of one command begin with; asking the system for them would cost more than most commands.
    pub(crate) fn seed(&self) -> u64 {
        self.random.random_bits()
    }

    /// A commit was seen.
    pub(crate) fn seen(&self, lsn: u64) {
        self.newest.fetch_max(lsn, Ordering::Relaxed);
    }

    /// The time stamp of the newest commit seen: the second, and the end of its lsn.
    #[must_use]
    pub fn stamp(&self, now: Millis) -> u64 {
        let lsn = self.newest.load(Ordering::Relaxed);
        now.secs().0 << 32 | (lsn & 0xFFFF_FFFF)
    }

    /// How long a transaction may last, in seconds.
    #[must_use]
    pub fn transaction_seconds(&self) -> u64 {
        self.sessions.lifetime_secs()
    }

    /// Says how long a transaction may last, in seconds.
    pub fn set_transaction_seconds(&self, secs: u64) {
        self.sessions.set_lifetime_secs(secs);
    }

    /// Lets go of what was not used for too long.
    pub(crate) fn sweep(&self, now: Millis) {
        self.cursors.sweep();
        self.sessions.sweep(now);
        self.snapshots.sweep(now);
    }

    /// Whether a cursor gives a stream of changes.
    #[must_use]
    pub fn is_stream(&self, cursor: i64) -> bool {
        self.cursors.is_stream(cursor)
    }

    /// How often it was resolved what roles grant since the start: for tests that count work.
    #[must_use]
    pub fn roles_resolved(&self) -> u64 {
        self.resolved_roles.count()
    }

    /// How many cursors are open.
    #[must_use]
    pub fn open_cursors(&self) -> usize {
        self.cursors.len()
    }
}
