//! Requests take turns on the few threads that serve all connections.
//!
//! Nobody knows before how long a request takes. So each one is run by [`in_turns`], which measures it. A turn is short: code that can
//! wait ends it by [`pass_on`], and an evaluation, which cannot, hands the other tasks of its thread to another one ([`give_way`], asked
//! by its budget) and goes on here. A request that has run for long needs a slot for every further turn. There are as many slots as
//! processors, given in the order in which they were asked for: however many long requests there are, a short one waits for few of them.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::Poll;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use lapsedb_record::Clock;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};

/// How long a turn on a thread that serves connections is, in milliseconds.
const TURN_MILLIS_MAX: u64 = 2;

/// How long an evaluation keeps such a thread, in milliseconds; handing over takes a part of one itself.
const ALONE_MILLIS_MAX: u64 = 5;

/// How long the evaluation pauses to hand over, in microseconds: within this time another thread takes the other tasks.
const HAND_OVER_MICROS: u64 = 500;

/// How long a request has run that needs slots from then on, in milliseconds.
const SHORT_MILLIS_MAX: u64 = 5;

/// How long an evaluation keeps its slot while others may wait for one, in milliseconds.
const SLOT_MILLIS_MAX: u64 = 20;

/// Slots of all long requests.
static SLOTS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, usize::from)));

/// What this thread runs.
struct Turn {
    began: Instant,
    /// Since when it has a slot, if it has one.
    slot: Option<(SemaphorePermit<'static>, Instant)>,
    /// Whether the other tasks of the thread were handed to another one.
    handed_over: bool,
}

thread_local! {
    static TURN: RefCell<Option<Turn>> = const { RefCell::new(None) };
}

/// Runs a request to its end, in turns.
pub async fn in_turns<F: Future>(request: F) -> F::Output {
    let mut request = pin!(request);
    let mut ran = Duration::ZERO;
    loop {
        let mut slot = None;
        if ran >= Duration::from_millis(SHORT_MILLIS_MAX) {
            slot = SLOTS.acquire().await.ok();
        }
        let turn = poll_fn(|context| {
            let _turn = Running::begin(slot.take());
            Poll::Ready(request.as_mut().poll(context))
        });
        let began = Clock::monotonic();
        if let Poll::Ready(done) = turn.await {
            return done;
        }
        ran = ran.saturating_add(began.elapsed());
        wait_for_wake().await;
    }
}

/// Waits until whatever the request waits for wakes the task: it has the same waker.
async fn wait_for_wake() {
    let mut waited = false;
    poll_fn(|_| match std::mem::replace(&mut waited, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// A turn, until this is dropped, whether the request returns or panics.
struct Running {
    outer: Option<Turn>,
}

impl Running {
    fn begin(slot: Option<SemaphorePermit<'static>>) -> Running {
        let began = Clock::monotonic();
        let turn = Turn {
            began,
            slot: slot.map(|slot| (slot, began)),
            handed_over: false,
        };
        Running {
            outer: TURN.replace(Some(turn)),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        TURN.set(self.outer.take());
    }
}

/// How long the turn of this thread has lasted.
fn lasted(turn: &Turn) -> Duration {
    Clock::monotonic().saturating_duration_since(turn.began)
}

/// Lets other requests go on, if this one's turn is over. To be awaited between two steps of a loop.
pub(crate) async fn pass_on() {
    let turn_max = Duration::from_millis(TURN_MILLIS_MAX);
    let is_over =
        TURN.with_borrow(|turn| turn.as_ref().is_some_and(|turn| lasted(turn) >= turn_max));
    if is_over {
        tokio::task::yield_now().await;
    }
}

/// The same in the middle of an evaluation, which cannot wait.
pub(crate) fn give_way() {
    let alone = Duration::from_millis(ALONE_MILLIS_MAX);
    let slot_max = Duration::from_millis(SLOT_MILLIS_MAX);
    let turn = TURN.with_borrow_mut(|turn| {
        let now = Clock::monotonic();
        turn.take_if(|turn| {
            let had_slot = turn
                .slot
                .as_ref()
                .map(|(_, since)| now.saturating_duration_since(*since));
            match turn.handed_over {
                false => now.saturating_duration_since(turn.began) >= alone,
                true => had_slot.is_none_or(|had| had >= slot_max),
            }
        })
    });
    // Nothing is to be done in most cases.
    let Some(mut turn) = turn else {
        return;
    };
    if let Some(runtime) = with_other_threads() {
        tokio::task::block_in_place(|| {
            if !turn.handed_over {
                // When this returns, another thread serves what this one did, unless none was free in the meantime.
                std::thread::sleep(Duration::from_micros(HAND_OVER_MICROS));
                turn.handed_over = true;
            }
            // Whoever waits goes first.
            drop(turn.slot.take());
            let slot = runtime.block_on(SLOTS.acquire());
            turn.slot = slot.ok().map(|slot| (slot, Clock::monotonic()));
        });
    }
    TURN.set(Some(turn));
}

/// Does something that takes long and cannot wait, such as reading a large message, while other threads serve everybody else.
pub fn out_of_the_way<T>(task: impl FnOnce() -> T) -> T {
    match with_other_threads() {
        Some(_) => tokio::task::block_in_place(task),
        None => task(),
    }
}

/// The runtime, if tasks of this thread can go on in another one.
fn with_other_threads() -> Option<Handle> {
    Handle::try_current()
        .ok()
        .filter(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
