//! Places for connections, and who has to leave when they run out.
//!
//! Two limits: one on all connections of a port, beyond which newcomers wait, and a lower one on those of clients that
//! nobody knows, beyond which a newcomer takes the place of another stranger. Strangers are not refused: drivers of
//! MongoDB watch the server by connections that never log in, and a flood of others must not keep them out. Nor are they
//! closed by age alone: the one that leaves is the longest idle one of the address that has the most. So whoever holds many
//! connections pushes out their own, and a driver that greets every ten seconds stays.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lapsedb_record::Clock;
use lapsedb_service::remote;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep_until;

/// Connections of one port at once; more wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 8_192;
/// One in so many of them may belong to clients that nobody knows.
const STRANGERS_SHARE: usize = 4;
/// How long a connection without a request is kept, in seconds.
const IDLE_SECONDS_MAX: u64 = 180;

/// What the connections of one port may do before anybody knows who they are.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Of them, connections of clients that have not logged in.
    pub strangers: usize,
    /// From the connection to the first whole request.
    pub opening: Duration,
    /// How long a connection without a request is kept.
    pub idle: Duration,
}

impl Limits {
    /// The limits of a port that may have so many descriptors.
    pub fn of(descriptors: usize) -> Limits {
        let connections = descriptors.clamp(1, CONNECTIONS_MAX);
        Limits {
            connections,
            strangers: (connections / STRANGERS_SHARE).max(1),
            opening: Duration::from_secs(remote::FIRST_REQUEST_SECONDS_MAX),
            idle: Duration::from_secs(IDLE_SECONDS_MAX),
        }
    }
}

/// All places of one port.
pub struct Slots {
    limits: Limits,
    permits: Arc<Semaphore>,
    began: Instant,
    strangers: Mutex<HashMap<u64, Arc<State>>>,
    next: AtomicU64,
}

/// What is known of a connection.
struct State {
    number: u64,
    network: IpAddr,
    opened: Instant,
    /// When it last did something, in milliseconds since the port was opened.
    seen: AtomicU64,
    requests: AtomicU64,
    in_flight: AtomicUsize,
    known: AtomicBool,
    leave: Notify,
}

/// One connection's place; free again when it is dropped.
pub struct Slot {
    slots: Arc<Slots>,
    state: Arc<State>,
    _permit: OwnedSemaphorePermit,
}

/// A request that is being answered.
pub struct InFlight<'s>(&'s Slot);

impl Slots {
    /// Places within these limits.
    pub fn new(limits: Limits) -> Arc<Slots> {
        Arc::new(Slots {
            limits,
            permits: Arc::new(Semaphore::new(limits.connections)),
            began: Clock::monotonic(),
            strangers: Mutex::default(),
            next: AtomicU64::new(0),
        })
    }

    /// A place for a connection from an address; waits for one if none is free. None when the port is closed.
    pub async fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Slot> {
        let free = Arc::clone(&self.permits).try_acquire_owned();
        let permit = match free {
            Ok(permit) => permit,
            Err(_) => {
                evict(&mut self.strangers.lock());
                Arc::clone(&self.permits).acquire_owned().await.ok()?
            }
        };
        let state = Arc::new(State {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            network: remote::network(address),
            opened: Clock::monotonic(),
            seen: AtomicU64::new(self.now()),
            requests: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            known: AtomicBool::new(false),
            leave: Notify::new(),
        });
        self.admit(&state);
        Some(Slot {
            slots: Arc::clone(self),
            state,
            _permit: permit,
        })
    }

    /// Waits until every connection has ended.
    pub async fn drained(&self) {
        let all = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        let _ = self.permits.acquire_many(all).await;
    }

    /// Counts a stranger; another one leaves if that is one too many.
    fn admit(&self, state: &Arc<State>) {
        let mut strangers = self.strangers.lock();
        while strangers.len() >= self.limits.strangers.max(1) {
            evict(&mut strangers);
        }
        strangers.insert(state.number, Arc::clone(state));
    }

    fn now(&self) -> u64 {
        let passed = Clock::monotonic().saturating_duration_since(self.began);
        u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Has the stranger leave that has been idle longest, of the address that has the most.
fn evict(strangers: &mut HashMap<u64, Arc<State>>) {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for state in strangers.values() {
        *counts.entry(state.network).or_default() += 1;
    }
    let rank = |state: &&Arc<State>| {
        (
            counts.get(&state.network).copied().unwrap_or(0),
            state.in_flight.load(Ordering::Relaxed) == 0,
            std::cmp::Reverse(state.seen.load(Ordering::Relaxed)),
            std::cmp::Reverse(state.number),
        )
    };
    let last = strangers.values().max_by_key(rank).map(Arc::clone);
    if let Some(state) = last {
        tracing::debug!(network = %state.network, "an idle connection without a login makes room for another");
        strangers.remove(&state.number);
        state.leave.notify_one();
    }
}

impl Slot {
    /// Resolves when the connection has to make room for another.
    pub async fn evicted(&self) {
        self.state.leave.notified().await;
    }

    /// Notes a request that begins; it ends with the value.
    pub fn begin(&self) -> InFlight<'_> {
        self.state.in_flight.fetch_add(1, Ordering::Relaxed);
        self.heard();
        InFlight(self)
    }

    /// Notes a whole request.
    pub fn heard(&self) {
        self.state.requests.fetch_add(1, Ordering::Relaxed);
        self.state.seen.store(self.slots.now(), Ordering::Relaxed);
    }

    /// Notes whether the client has shown who it is.
    pub fn know(&self, known: bool) {
        if self.state.known.load(Ordering::Relaxed) == known {
            return;
        }
        if self.state.known.swap(known, Ordering::Relaxed) == known {
            return;
        }
        if known {
            self.slots.strangers.lock().remove(&self.state.number);
        } else {
            self.slots.admit(&self.state);
        }
    }

    /// Resolves when the first request has not come in time; never once it has come.
    pub async fn unopened(&self) {
        sleep_until((self.state.opened + self.slots.limits.opening).into()).await;
        if self.state.requests.load(Ordering::Relaxed) > 0 {
            std::future::pending::<()>().await;
        }
    }

    /// Resolves when the first request has not come in time, or the connection has been without one for too long.
    pub async fn overdue(&self) {
        loop {
            let now = Clock::monotonic();
            let deadline = self.deadline();
            if deadline <= now {
                return;
            }
            // A request may come meanwhile, after which another deadline holds.
            sleep_until(deadline.min(now + self.slots.limits.idle).into()).await;
        }
    }

    fn deadline(&self) -> Instant {
        let limits = &self.slots.limits;
        if self.state.requests.load(Ordering::Relaxed) == 0 {
            return self.state.opened + limits.opening;
        }
        if self.state.in_flight.load(Ordering::Relaxed) > 0 {
            return Clock::monotonic() + limits.idle;
        }
        let seen = Duration::from_millis(self.state.seen.load(Ordering::Relaxed));
        self.slots.began + seen + limits.idle
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.strangers.lock().remove(&self.state.number);
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let state = &self.0.state;
        state.in_flight.fetch_sub(1, Ordering::Relaxed);
        state.seen.store(self.0.slots.now(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn slots(connections: usize, strangers: usize) -> Arc<Slots> {
        Slots::new(Limits {
            connections,
            strangers,
            ..Limits::of(connections)
        })
    }

    async fn enter(slots: &Arc<Slots>, last: u8) -> Slot {
        let address = IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        slots.enter(address).await.unwrap()
    }

    /// Whether it was told to leave.
    async fn leaves(slot: &Slot) -> bool {
        tokio::select! {
            biased;
            () = slot.evicted() => true,
            () = std::future::ready(()) => false,
        }
    }

    #[test]
    fn who_has_the_most_makes_room_longest_idle_first() {
        lapsedb_testkit::run(async {
            let slots = slots(100, 4);
            let monitor = enter(&slots, 1).await;
            let mut flood = Vec::new();
            for _ in 0..20 {
                flood.push(enter(&slots, 2).await);
            }
            assert!(!leaves(&monitor).await, "another address is spared");
            for (at, slot) in flood.iter().enumerate() {
                assert_eq!(leaves(slot).await, at < 17, "{at}");
            }
        });
    }

    #[test]
    fn who_is_known_is_never_told_to_leave() {
        lapsedb_testkit::run(async {
            let slots = slots(4, 2);
            let known = [enter(&slots, 1).await, enter(&slots, 1).await];
            known.iter().for_each(|slot| slot.know(true));
            let (first, second) = (enter(&slots, 1).await, enter(&slots, 1).await);
            // All places are taken: the next one waits until a stranger has left for it.
            let (next, ()) = tokio::join!(enter(&slots, 2), async {
                first.evicted().await;
                drop(first);
            });
            assert!(!leaves(&second).await);
            // A client that logs out is a stranger again.
            known[0].know(false);
            assert!(leaves(&second).await);
            for slot in [&known[0], &known[1], &next] {
                assert!(!leaves(slot).await);
            }
        });
    }

    #[test]
    fn the_first_request_has_its_own_time_and_later_ones_another() {
        lapsedb_testkit::run(async {
            let soon = Duration::from_millis(50);
            let slots = Slots::new(Limits {
                opening: Duration::ZERO,
                idle: Duration::from_secs(3600),
                ..Limits::of(2)
            });
            let slot = enter(&slots, 1).await;
            slot.unopened().await;
            slot.overdue().await;
            drop(slot.begin());
            assert!(tokio::time::timeout(soon, slot.unopened()).await.is_err());
            assert!(tokio::time::timeout(soon, slot.overdue()).await.is_err());
        });
    }
}
