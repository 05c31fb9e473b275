//! Requests take turns on the few threads that serve all connections.
//!
//! Nobody knows before how long a request takes. So each one is run by [`in_turns`], which measures it. A turn is short: code that can
//! wait ends it by [`pass_on`], and an evaluation, which cannot, hands the other tasks of its thread to another one ([`give_way`], asked
//! by its budget) and goes on here. A request that has run for long needs a slot for every further turn. There are as many slots as
//! processors, given in the order in which they were asked for: however many long requests there are, a short one waits for few of them.
//!
//! Who waits for a slot looks now and then whether its request has to stop. An evaluation keeps its thread while it waits, so there
//! are only so many of them: without a thread left nothing could go on, not even those that have a slot.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use lapsedb_record::Clock;
use lapsedb_value::budget::Stop;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

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

/// How long one waits for a slot before it looks whether it has to stop, in milliseconds.
const WAIT_MILLIS_MAX: u64 = 20;

/// Evaluations that may have a thread of their own. The threads of a runtime must be more by far (`server/src/main.rs`).
pub const EVALUATIONS_MAX: usize = 256;

/// Slots of all long requests.
static SLOTS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, usize::from)));

/// Evaluations that have a thread of their own.
static EVALUATIONS: AtomicUsize = AtomicUsize::new(0);

/// What this thread runs.
struct Turn {
    began: Instant,
    /// How long the request has run before.
    ran: Duration,
    /// A slot, and since when it has it.
    slot: Option<(SemaphorePermit<'static>, Instant)>,
    /// Its place among the evaluations, once the other tasks of the thread were handed to another one.
    handed_over: Option<Evaluation>,
}

thread_local! {
    static TURN: RefCell<Option<Turn>> = const { RefCell::new(None) };
}

/// An evaluation that has a thread of its own, until this is dropped.
struct Evaluation;

impl Evaluation {
    fn begin() -> Option<Evaluation> {
        let order = Ordering::Relaxed;
        let add = |count: usize| (count < EVALUATIONS_MAX).then_some(count + 1);
        let counted = EVALUATIONS.fetch_update(order, order, add);
        // Made only if it was counted: dropping one counts it off.
        counted.is_ok().then(|| Evaluation)
    }
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        EVALUATIONS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a request to its end, in turns.
pub async fn in_turns<F: Future>(request: F) -> F::Output {
    let mut request = pin!(request);
    let mut ran = Duration::ZERO;
    poll_fn(|context| {
        let running = Running::begin(ran);
        let poll = request.as_mut().poll(context);
        ran = running.end();
        poll
    })
    .await
}

/// A turn, until this is dropped, whether the request returns or panics.
struct Running {
    began: Instant,
    ran: Duration,
    outer: Option<Turn>,
}

impl Running {
    fn begin(ran: Duration) -> Running {
        let began = Clock::monotonic();
        let turn = Turn {
            began,
            ran,
            slot: None,
            handed_over: None,
        };
        Running {
            began,
            ran,
            outer: TURN.replace(Some(turn)),
        }
    }

    /// How long the request has run.
    fn end(self) -> Duration {
        let turn = Clock::monotonic().saturating_duration_since(self.began);
        self.ran.saturating_add(turn)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        TURN.set(self.outer.take());
    }
}

/// Lets other requests go on, if this one's turn is over. To be awaited between two steps of a loop. Returns early if the request has to
/// stop: whoever calls looks at that itself.
pub(crate) async fn pass_on(has_to_stop: impl Fn() -> bool) {
    let over = TURN.with_borrow(|turn| {
        let turn = turn.as_ref()?;
        let lasted = Clock::monotonic().saturating_duration_since(turn.began);
        let is_over = lasted >= Duration::from_millis(TURN_MILLIS_MAX);
        is_over.then(|| turn.ran.saturating_add(lasted))
    });
    let Some(ran) = over else {
        return;
    };
    tokio::task::yield_now().await;
    if ran < Duration::from_millis(SHORT_MILLIS_MAX) {
        return;
    }
    if let Some(slot) = slot(has_to_stop).await {
        TURN.with_borrow_mut(|turn| {
            if let Some(turn) = turn {
                turn.slot = Some((slot, Clock::monotonic()));
            }
        });
    }
}

/// Waits for a slot, and looks now and then whether the request has to stop; nothing if it has to. It keeps its place in the queue.
async fn slot(has_to_stop: impl Fn() -> bool) -> Option<SemaphorePermit<'static>> {
    let look_again = Duration::from_millis(WAIT_MILLIS_MAX);
    let mut slot = pin!(SLOTS.acquire());
    while !has_to_stop() {
        if let Ok(slot) = timeout(look_again, slot.as_mut()).await {
            return slot.ok();
        }
    }
    None
}

/// The same in the middle of an evaluation, which keeps its thread while it waits.
///
/// # Errors
/// When too many evaluations have threads of their own.
pub(crate) fn give_way(has_to_stop: impl Fn() -> bool) -> Result<(), Stop> {
    let alone = Duration::from_millis(ALONE_MILLIS_MAX);
    let slot_max = Duration::from_millis(SLOT_MILLIS_MAX);
    let turn = TURN.with_borrow_mut(|turn| {
        let now = Clock::monotonic();
        let since = |time: Instant| now.saturating_duration_since(time);
        turn.take_if(|turn| match turn.handed_over {
            None => since(turn.began) >= alone,
            Some(_) => turn
                .slot
                .as_ref()
                .is_none_or(|(_, got)| since(*got) >= slot_max),
        })
    });
    // Nothing is to be done in most cases.
    let Some(mut turn) = turn else {
        return Ok(());
    };
    let done = match with_other_threads() {
        Some(runtime) => turn.go_on_elsewhere(&runtime, has_to_stop),
        None => Ok(()),
    };
    TURN.set(Some(turn));
    done
}

impl Turn {
    /// Has another thread serve what this one serves, and waits for a slot, unless the request has to stop.
    fn go_on_elsewhere(
        &mut self,
        runtime: &Handle,
        has_to_stop: impl Fn() -> bool,
    ) -> Result<(), Stop> {
        if self.handed_over.is_none() {
            let evaluation = Evaluation::begin().ok_or(Stop::Busy {
                evaluations_max: EVALUATIONS_MAX,
            })?;
            self.handed_over = Some(evaluation);
            // When this returns, another thread serves what this one did, unless none was free in the meantime.
            tokio::task::block_in_place(|| {
                std::thread::sleep(Duration::from_micros(HAND_OVER_MICROS));
            });
        }
        // Whoever waits goes first.
        drop(self.slot.take());
        let slot = tokio::task::block_in_place(|| runtime.block_on(slot(has_to_stop)));
        self.slot = slot.map(|slot| (slot, Clock::monotonic()));
        Ok(())
    }
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
