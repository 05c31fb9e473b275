//! One account of memory for all requests.
//!
//! A request's budget draws from it in portions, so that counting a byte stays a matter of the request alone, and gives back what
//! it no longer needs. When the account is used up, the request that holds most is stopped: the others go on within a
//! reserve until it has let go of what it holds.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::budget::Stop;

/// Bytes that are drawn at once at least: most requests need no second portion.
pub const PORTION_BYTES_MIN: usize = 16 * 1024;
/// Bytes that are drawn at once at most, beyond what is needed.
pub const PORTION_BYTES_MAX: usize = 1024 * 1024;
/// One in so many of the bytes that a request has drawn is drawn next.
const PORTION_SHARE: usize = 8;
/// Bytes that a request has drawn before it is looked at as one that may hold most.
const LISTED_BYTES_MIN: usize = 256 * 1024;
/// How long it takes a request at most to notice that it was stopped, while it is counted as one that gives back.
const NOTICE_TIME_MAX: Duration = Duration::from_secs(1);
/// One in so many of the account's bytes is the reserve.
const RESERVE_SHARE: usize = 8;

/// What is done when a request is stopped that may be waiting: wake it, or let go of what it holds.
pub type OnStop = Arc<dyn Fn(Stop) + Send + Sync>;

/// The account.
pub struct Account {
    bytes_max: usize,
    now: fn() -> Instant,
    bytes: AtomicUsize,
    stopped: AtomicU64,
    next: AtomicU64,
    /// Those that may hold most.
    listed: Mutex<BTreeMap<u64, Arc<Entry>>>,
}

/// What one request has drawn.
struct Entry {
    drawn: AtomicUsize,
    /// When it was stopped, if it was.
    stopped: OnceLock<Instant>,
    on_stop: Mutex<BTreeMap<u64, OnStop>>,
}

/// One request's part of the account; given back when it is dropped.
pub struct Share {
    account: Arc<Account>,
    entry: Arc<Entry>,
    /// Its number in the account's list, once it is there.
    number: AtomicU64,
}

/// As long as it lives, something is done when its share is stopped.
#[must_use]
pub struct WhenStopped {
    entry: Option<Arc<Entry>>,
    number: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Account {
    /// An account of so many bytes, and how it is told the time.
    #[must_use]
    pub fn new(bytes_max: usize, now: fn() -> Instant) -> Account {
        Account {
            bytes_max,
            now,
            bytes: AtomicUsize::new(0),
            stopped: AtomicU64::new(0),
            next: AtomicU64::new(1),
            listed: Mutex::default(),
        }
    }

    /// Bytes that requests have drawn.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes that there are.
    pub const fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// How many requests were stopped because the account was used up.
    pub fn stopped(&self) -> u64 {
        self.stopped.load(Ordering::Relaxed)
    }

    /// A request's share, of which nothing is drawn yet.
    pub fn share(self: &Arc<Self>) -> Share {
        Share {
            account: Arc::clone(self),
            entry: Arc::new(Entry {
                drawn: AtomicUsize::new(0),
                stopped: OnceLock::new(),
                on_stop: Mutex::default(),
            }),
            number: AtomicU64::new(0),
        }
    }

    /// Takes bytes, if no more than the limit are taken then.
    fn take(&self, bytes: usize, bytes_max: usize) -> bool {
        let add = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= bytes_max);
        let order = Ordering::Relaxed;
        self.bytes.fetch_update(order, order, add).is_ok()
    }

    fn with_reserve(&self) -> usize {
        self.bytes_max
            .saturating_add(self.bytes_max / RESERVE_SHARE)
    }

    /// How many bytes too many would be drawn with so many more.
    fn missing(&self, bytes: usize) -> usize {
        let sum = self.bytes().saturating_add(bytes);
        sum.saturating_sub(self.bytes_max)
    }

    const fn stop(&self) -> Stop {
        Stop::Account {
            bytes_max: self.bytes_max,
        }
    }

    /// Sees to it that a request gives back at least some of the bytes that are missing; false if that is the one who asks, because
    /// nobody holds more than it does or is about to.
    fn relieve(&self, own: &Arc<Entry>, holds: usize, missing: usize) -> bool {
        let listed: Vec<Arc<Entry>> = locked(&self.listed).values().map(Arc::clone).collect();
        let (mut returning, mut largest) = (0usize, None);
        for entry in &listed {
            let drawn = entry.drawn.load(Ordering::Relaxed);
            if let Some(stopped) = entry.stopped.get() {
                // One that does not notice may hold what it has for long: then the next one is stopped.
                let notices = (self.now)().saturating_duration_since(*stopped) < NOTICE_TIME_MAX;
                returning = returning.saturating_add(if notices { drawn } else { 0 });
            } else if !Arc::ptr_eq(entry, own)
                && drawn > largest.map_or(holds, |(most, _): (usize, _)| most)
            {
                largest = Some((drawn, entry));
            }
        }
        if returning >= missing {
            return true;
        }
        match largest {
            Some((_, entry)) => {
                self.end(entry);
                true
            }
            None => false,
        }
    }

    /// Stops a request.
    fn end(&self, entry: &Entry) {
        if entry.stopped.set((self.now)()).is_err() {
            return;
        }
        self.stopped.fetch_add(1, Ordering::Relaxed);
        // Without the lock: what is done may let go of the share.
        let actions: Vec<OnStop> = locked(&entry.on_stop).values().map(Arc::clone).collect();
        actions.iter().for_each(|action| action(self.stop()));
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("bytes", &self.bytes())
            .field("bytes_max", &self.bytes_max)
            .finish_non_exhaustive()
    }
}

impl Share {
    /// Bytes drawn.
    pub(crate) fn drawn(&self) -> usize {
        self.entry.drawn.load(Ordering::Relaxed)
    }

    /// Why the request has to stop, if it was stopped.
    pub(crate) fn stop(&self) -> Option<Stop> {
        let stopped = self.entry.stopped.get();
        stopped.map(|_| self.account.stop())
    }

    /// Draws, so that at least `total` bytes are drawn.
    #[cold]
    pub(crate) fn draw(&self, total: usize) -> Result<(), Stop> {
        if let Some(stop) = self.stop() {
            return Err(stop);
        }
        let drawn = self.drawn();
        let needed = total.saturating_sub(drawn);
        let account = &self.account;
        for bytes in [self.portion(needed), needed] {
            if account.take(bytes, account.bytes_max) {
                self.drew(bytes);
                return Ok(());
            }
        }
        let missing = account.missing(needed);
        let helped = account.relieve(&self.entry, drawn.saturating_add(needed), missing);
        if helped && account.take(needed, account.with_reserve()) {
            self.drew(needed);
            return Ok(());
        }
        account.end(&self.entry);
        Err(account.stop())
    }

    /// How much is drawn where so much is needed.
    fn portion(&self, needed: usize) -> usize {
        let share = self.drawn() / PORTION_SHARE;
        needed.max(share.clamp(PORTION_BYTES_MIN, PORTION_BYTES_MAX))
    }

    /// Draws for what is there already, whatever the account has left; if that is too much, the largest is stopped.
    pub(crate) fn draw_at_once(&self, total: usize) {
        let needed = total.saturating_sub(self.drawn());
        let portion = self.portion(needed);
        if self.account.take(portion, self.account.bytes_max) {
            self.drew(portion);
            return;
        }
        self.account.bytes.fetch_add(needed, Ordering::Relaxed);
        let drawn = self.drew(needed);
        let missing = self.account.missing(0);
        if missing > 0 && !self.account.relieve(&self.entry, drawn, missing) {
            self.account.end(&self.entry);
        }
    }

    fn drew(&self, bytes: usize) -> usize {
        let drawn = self.entry.drawn.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if drawn >= LISTED_BYTES_MIN && self.number.load(Ordering::Relaxed) == 0 {
            let number = self.account.next.fetch_add(1, Ordering::Relaxed);
            self.number.store(number, Ordering::Relaxed);
            locked(&self.account.listed).insert(number, Arc::clone(&self.entry));
        }
        drawn
    }

    /// Gives back what is drawn beyond so many bytes. Several threads may do so at once: the account gets back what each of them has
    /// taken from the share, and nothing twice.
    pub(crate) fn give_back(&self, total: usize) {
        let order = Ordering::Relaxed;
        let keep = |drawn: usize| (drawn > total).then_some(total);
        if let Ok(drawn) = self.entry.drawn.fetch_update(order, order, keep) {
            self.account.bytes.fetch_sub(drawn - total, order);
        }
    }

    /// Has something done when the request is stopped; at once, if it was already.
    pub(crate) fn when_stopped(&self, action: OnStop) -> WhenStopped {
        let number = self.account.next.fetch_add(1, Ordering::Relaxed);
        locked(&self.entry.on_stop).insert(number, Arc::clone(&action));
        if let Some(stop) = self.stop() {
            action(stop);
        }
        WhenStopped {
            entry: Some(Arc::clone(&self.entry)),
            number,
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let number = *self.number.get_mut();
        if number != 0 {
            locked(&self.account.listed).remove(&number);
        }
        self.give_back(0);
    }
}

impl WhenStopped {
    /// Where nothing is ever stopped.
    pub(crate) const fn never() -> WhenStopped {
        WhenStopped {
            entry: None,
            number: 0,
        }
    }
}

impl Drop for WhenStopped {
    fn drop(&mut self) {
        if let Some(entry) = &self.entry {
            locked(&entry.on_stop).remove(&self.number);
        }
    }
}

impl fmt::Debug for WhenStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WhenStopped")
    }
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
