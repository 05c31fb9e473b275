//! However many requests run for long, short ones have their turn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

const THREADS: usize = 2;
const LONG_REQUESTS: usize = 64;

/// What long requests share with the test.
#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    begun: AtomicUsize,
    running: AtomicUsize,
    running_max: AtomicUsize,
}

impl Shared {
    /// An evaluation that does not wait, until the test ends it.
    fn evaluate(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        while !self.ended.load(Ordering::Relaxed) {
            let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
            self.running_max.fetch_max(running, Ordering::Relaxed);
            std::hint::spin_loop();
            self.running.fetch_sub(1, Ordering::Relaxed);
            give_way();
        }
    }
}

#[test]
fn evaluations_that_do_not_wait_leave_others_their_turn() {
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
        shared.ended.store(true, Ordering::Relaxed);
        for request in long {
            request.await.unwrap();
        }
        let slots = available_parallelism().map_or(1, usize::from);
        let running_max = shared.running_max.load(Ordering::Relaxed);
        // Those with a slot, and those at the beginning of their first turn.
        assert!(running_max <= slots + THREADS, "{running_max} at once");
    });
}

#[test]
fn loops_that_pass_on_leave_others_their_turn() {
    lapsedb_testkit::run(async {
        let shared = Arc::new(Shared::default());
        let ended = Arc::clone(&shared);
        let long = in_turns(async {
            while !ended.ended.load(Ordering::Relaxed) {
                pass_on().await;
            }
        });
        let short = in_turns(async { shared.ended.store(true, Ordering::Relaxed) });
        // The first is polled first, on one thread.
        tokio::join!(long, short);
    });
}

#[test]
fn a_panic_ends_the_turn() {
    lapsedb_testkit::run_on_threads(THREADS, async {
        let request = async {
            let has_slot =
                |turn: &Option<Turn>| turn.as_ref().is_some_and(|turn| turn.slot.is_some());
            while !TURN.with_borrow(has_slot) {
                give_way();
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
    });
}
