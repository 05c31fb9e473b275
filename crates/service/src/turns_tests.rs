//! However many requests run for long, short ones have their turn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;

use super::*;

const THREADS: usize = 2;
/// More than a runtime has threads.
const LONG_REQUESTS: usize = 600;

/// Evaluations of all tests are counted together, so that only one test may have some.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// What long requests share with the test.
#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    begun: AtomicUsize,
    refused: AtomicUsize,
    with_slot_max: AtomicUsize,
    with_slot: AtomicUsize,
}

impl Shared {
    /// An evaluation that does not wait, until the test ends it.
    fn evaluate(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        while !self.ended.load(Ordering::Relaxed) {
            if has_slot() {
                let running = self.with_slot.fetch_add(1, Ordering::Relaxed) + 1;
                self.with_slot_max.fetch_max(running, Ordering::Relaxed);
                std::hint::spin_loop();
                self.with_slot.fetch_sub(1, Ordering::Relaxed);
            }
            let ended = || self.ended.load(Ordering::Relaxed);
            if give_way(ended).is_err() {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }
}

fn has_slot() -> bool {
    TURN.with_borrow(|turn| turn.as_ref().is_some_and(|turn| turn.slot.is_some()))
}

#[test]
fn evaluations_that_do_not_wait_leave_others_their_turn() {
    let _alone = ALONE.lock();
    lapsedb_testkit::run_on_threads(THREADS, async {
        let shared = Arc::new(Shared::default());
        let long: Vec<_> = (0..LONG_REQUESTS)
            .map(|_| {
                let shared = Arc::clone(&shared);
                tokio::spawn(in_turns(async move { shared.evaluate() }))
            })
            .collect();
        // All of them have begun only if those before have given way, and nobody who comes later waits for their end.
        while shared.begun.load(Ordering::Relaxed) < LONG_REQUESTS {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tokio::spawn(in_turns(async {})).await.unwrap();
        }
        while shared.refused.load(Ordering::Relaxed) < LONG_REQUESTS - EVALUATIONS_MAX {
            tokio::task::yield_now().await;
        }
        shared.ended.store(true, Ordering::Relaxed);
        for request in long {
            request.await.unwrap();
        }
        let refused = shared.refused.load(Ordering::Relaxed);
        assert_eq!(refused, LONG_REQUESTS - EVALUATIONS_MAX);
        let slots = available_parallelism().map_or(1, usize::from);
        let with_slot_max = shared.with_slot_max.load(Ordering::Relaxed);
        assert!(with_slot_max <= slots, "{with_slot_max} at once");
    });
}

#[test]
fn loops_that_pass_on_leave_others_their_turn() {
    lapsedb_testkit::run(async {
        let ended = AtomicBool::new(false);
        let long = in_turns(async {
            while !ended.load(Ordering::Relaxed) {
                pass_on(|| false).await;
            }
        });
        let short = in_turns(async { ended.store(true, Ordering::Relaxed) });
        // The first is polled first, on one thread.
        tokio::join!(long, short);
    });
}

#[test]
fn who_has_to_stop_waits_for_no_slot() {
    let _alone = ALONE.lock();
    lapsedb_testkit::run(async {
        let all = SLOTS.acquire_many(available_parallelism().map_or(1, usize::from) as u32);
        let _all = all.await.unwrap();
        in_turns(async {
            // Until it is a long one, which would need a slot.
            let looked = std::cell::Cell::new(false);
            while !looked.get() {
                pass_on(|| !looked.replace(true)).await;
            }
        })
        .await;
    });
}

#[test]
fn a_panic_ends_the_turn() {
    let _alone = ALONE.lock();
    lapsedb_testkit::run_on_threads(THREADS, async {
        let request = async {
            while !has_slot() {
                give_way(|| false).unwrap();
            }
            panic!("on purpose");
        };
        let mut request = Box::pin(in_turns(request));
        let task = tokio::spawn(poll_fn(move |context| {
            let poll = catch_unwind(AssertUnwindSafe(|| request.as_mut().poll(context)));
            assert!(poll.is_err());
            Poll::Ready(TURN.with_borrow(Option::is_none))
        }));
        assert!(task.await.unwrap(), "neither the turn nor its slot is left");
        assert_eq!(EVALUATIONS.load(Ordering::Relaxed), 0);
    });
}
