//! Records and unique values that open transactions are about to change.
//!
//! A transaction claims what it writes when it writes it, long before its commit. Another transaction that comes for the same
//! is refused at once; a single write waits until the claim is gone, and is decided anew. So a transaction that got all its
//! claims is not overtaken. The engine's checks alone make commits right; claims decide who has to wait.
//!
//! A single write names its keys only while a transaction is open: nobody else would ask.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lapsedb_kv::Space;
use lapsedb_record::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// How long a single write waits for one claim, in seconds; whoever asked may try again.
const PASS_WAIT_SECONDS_MAX: u64 = 10;
/// How long one who waits sleeps before he looks again though nobody has called, in milliseconds.
const LOOK_AGAIN_MS: u64 = 20;

/// A record or a unique value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimKey(Vec<u8>);

impl ClaimKey {
    pub(crate) fn new(space: Space, key: &[u8]) -> ClaimKey {
        let mut bytes = Vec::with_capacity(key.len() + 1);
        bytes.push(space as u8);
        bytes.extend_from_slice(key);
        ClaimKey(bytes)
    }
}

/// What is claimed, and by whom.
#[derive(Default)]
pub struct Claims(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Transactions that may have claims.
    open: AtomicUsize,
    /// Single writes at their commit that named no keys, because no transaction was open.
    unnamed: AtomicUsize,
    next: AtomicU64,
    table: Mutex<Table>,
    left: Notify,
}

#[derive(Default)]
struct Table {
    claimed: HashMap<ClaimKey, u64>,
    /// Single writes at their commit.
    passing: HashMap<ClaimKey, usize>,
}

/// A transaction's claims; they end with it.
pub struct Claimant {
    shared: Arc<Shared>,
    own: u64,
    claimed: Mutex<HashSet<ClaimKey>>,
}

/// A single write at its commit.
pub(crate) struct Pass {
    shared: Arc<Shared>,
    named: Option<Vec<ClaimKey>>,
}

impl Claims {
    /// One who may claim.
    #[must_use]
    pub fn claimant(&self) -> Claimant {
        self.0.open.fetch_add(1, Ordering::SeqCst);
        Claimant {
            shared: Arc::clone(&self.0),
            own: self.0.next.fetch_add(1, Ordering::Relaxed),
            claimed: Mutex::default(),
        }
    }

    /// Whether a transaction other than this one has claimed one of some keys.
    #[must_use]
    pub fn is_claimed(&self, own: Option<&Claimant>, keys: &[ClaimKey]) -> bool {
        self.0.open.load(Ordering::SeqCst) > 0 && {
            let own = own.map(|own| own.own);
            let table = self.0.table.lock();
            keys.iter().any(|key| {
                let holder = table.claimed.get(key);
                holder.is_some_and(|holder| Some(*holder) != own)
            })
        }
    }

    /// Waits until none of some keys is claimed, or until a time.
    pub async fn settled(&self, until: Option<Instant>, keys: &[ClaimKey]) {
        let until = bound(until);
        let free = |table: &Table| !keys.iter().any(|key| table.claimed.contains_key(key));
        self.0.wait(until, free).await;
    }

    /// Lets a single write pass to its commit; nothing, if it had to wait and must be decided anew.
    pub(crate) async fn pass(
        &self,
        until: Option<Instant>,
        keys: impl FnOnce() -> Vec<ClaimKey>,
    ) -> Option<Pass> {
        // Whoever opens a transaction counts himself before he looks for unnamed writes; so one of the two sees the other.
        self.0.unnamed.fetch_add(1, Ordering::SeqCst);
        let unnamed = Pass {
            shared: Arc::clone(&self.0),
            named: None,
        };
        if self.0.open.load(Ordering::SeqCst) == 0 {
            return Some(unnamed);
        }
        drop(unnamed);
        let keys = keys();
        {
            let mut table = self.0.table.lock();
            if !keys.iter().any(|key| table.claimed.contains_key(key)) {
                for key in &keys {
                    *table.passing.entry(key.clone()).or_default() += 1;
                }
                return Some(Pass {
                    shared: Arc::clone(&self.0),
                    named: Some(keys),
                });
            }
        }
        self.settled(until, &keys).await;
        None
    }
}

/// Until when somebody waits who has said until when, or not.
fn bound(until: Option<Instant>) -> Instant {
    let most = Clock::monotonic() + Duration::from_secs(PASS_WAIT_SECONDS_MAX);
    until.map_or(most, |until| until.min(most))
}

impl Shared {
    /// Waits until something holds of the table, or until a time.
    async fn wait(&self, until: Instant, holds: impl Fn(&Table) -> bool) {
        loop {
            let mut left = std::pin::pin!(self.left.notified());
            left.as_mut().enable();
            if holds(&self.table.lock()) {
                return;
            }
            let now = Clock::monotonic();
            if now >= until {
                return;
            }
            let again = Duration::from_millis(LOOK_AGAIN_MS).min(until - now);
            // It does not matter which of the two comes.
            let _ = tokio::time::timeout(again, left).await;
        }
    }
}

impl Claimant {
    /// Claims keys, and waits for single writes of them that are at their commit. False, if another has one of them.
    pub async fn claim(&self, keys: Vec<ClaimKey>) -> bool {
        {
            let mut table = self.shared.table.lock();
            let taken = |key: &ClaimKey| table.claimed.get(key).is_some_and(|own| *own != self.own);
            if keys.iter().any(taken) {
                return false;
            }
            let mut claimed = self.claimed.lock();
            for key in &keys {
                table.claimed.insert(key.clone(), self.own);
                claimed.insert(key.clone());
            }
        }
        let alone = |table: &Table| {
            self.shared.unnamed.load(Ordering::SeqCst) == 0
                && !keys.iter().any(|key| table.passing.contains_key(key))
        };
        self.shared.wait(bound(None), alone).await;
        true
    }
}

impl Drop for Claimant {
    fn drop(&mut self) {
        let mut table = self.shared.table.lock();
        for key in self.claimed.lock().drain() {
            table.claimed.remove(&key);
        }
        drop(table);
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
        self.shared.left.notify_waiters();
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        match &self.named {
            None => {
                self.shared.unnamed.fetch_sub(1, Ordering::SeqCst);
            }
            Some(keys) => {
                let mut table = self.shared.table.lock();
                for key in keys {
                    if let Some(count) = table.passing.get_mut(key) {
                        *count -= 1;
                        if *count == 0 {
                            table.passing.remove(key);
                        }
                    }
                }
            }
        }
        if self.shared.open.load(Ordering::SeqCst) > 0 {
            self.shared.left.notify_waiters();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn keys(names: &[&str]) -> Vec<ClaimKey> {
        let key = |name: &&str| ClaimKey::new(Space::Items, name.as_bytes());
        names.iter().map(key).collect()
    }

    #[test]
    fn the_first_claim_wins_and_ends_with_its_claimant() {
        lapsedb_testkit::run(async {
            let claims = Claims::default();
            let (one, two) = (claims.claimant(), claims.claimant());
            assert!(one.claim(keys(&["a", "b"])).await);
            assert!(one.claim(keys(&["b", "c"])).await, "its own");
            assert!(!two.claim(keys(&["x", "c"])).await);
            assert!(!claims.is_claimed(None, &keys(&["x"])), "all or nothing");
            assert!(claims.is_claimed(Some(&two), &keys(&["a"])));
            assert!(!claims.is_claimed(Some(&one), &keys(&["a"])));
            drop(one);
            assert!(two.claim(keys(&["c"])).await);
        });
    }

    #[test]
    fn a_single_write_waits_for_a_claim_and_is_decided_anew() {
        lapsedb_testkit::run(async {
            let claims = Claims::default();
            assert!(claims.pass(None, || keys(&["a"])).await.is_some());
            let one = claims.claimant();
            assert!(one.claim(keys(&["a"])).await);
            assert!(claims.pass(None, || keys(&["b"])).await.is_some());
            let soon = Some(Clock::monotonic());
            assert!(claims.pass(soon, || keys(&["a"])).await.is_none());
            let waiting = claims.pass(None, || keys(&["a"]));
            let (pass, ()) = tokio::join!(waiting, async { drop(one) });
            assert!(pass.is_none(), "what it decided on has changed");
            assert!(claims.pass(None, || keys(&["a"])).await.is_some());
        });
    }

    #[test]
    fn a_claim_waits_for_writes_that_are_at_their_commit() {
        lapsedb_testkit::run(async {
            let claims = Claims::default();
            let unnamed = claims.pass(None, Vec::new).await.unwrap();
            let one = claims.claimant();
            let named = claims.pass(None, || keys(&["a"])).await.unwrap();
            let mut claim = std::pin::pin!(one.claim(keys(&["a"])));
            for pass in [unnamed, named] {
                let early = tokio::time::timeout(Duration::from_millis(1), claim.as_mut()).await;
                assert!(early.is_err());
                drop(pass);
            }
            assert!(claim.await);
        });
    }
}
