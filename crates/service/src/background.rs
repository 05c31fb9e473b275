//! Work between requests, each piece by itself: one that fails or panics is logged once, counted and tried again later, and
//! all others go on.

use std::collections::HashMap;
use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use lapsedb_store::CollectionId;
use parking_lot::Mutex;

/// A piece that has failed n times in a row is left out 2^n times, but at most so often.
const LEFT_OUT_MAX: u32 = 64;

/// The kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Making the clock durable, and letting old snapshots hold back purging no longer.
    Clock,
    /// Forgetting sessions, cursors and retryable writes that were not used for long.
    Sessions,
    /// Removing the data of dropped collections.
    Drops,
    /// Emitting expiry events, and removing versions that are kept no longer.
    Versions,
    /// Building indexes, and removing what dropped ones have left.
    Indexes,
    /// Removing expired items.
    Purge,
    /// Giving back disk space.
    Rewrite,
    /// Figures for the metrics page.
    Figures,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 8] = [
        Work::Clock,
        Work::Sessions,
        Work::Drops,
        Work::Versions,
        Work::Indexes,
        Work::Purge,
        Work::Rewrite,
        Work::Figures,
    ];

    /// Its name in metrics and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Work::Clock => "clock",
            Work::Sessions => "sessions",
            Work::Drops => "drops",
            Work::Versions => "versions",
            Work::Indexes => "indexes",
            Work::Purge => "purge",
            Work::Rewrite => "rewrite",
            Work::Figures => "figures",
        }
    }
}

/// How one kind of work fares.
#[derive(Clone, Copy, Debug)]
pub struct WorkState {
    /// Which.
    pub work: Work,
    /// Pieces that have failed since the start.
    pub failures: u64,
    /// Pieces whose last attempt has failed.
    pub failing: u64,
}

/// Which pieces fail, and how often.
#[derive(Default)]
pub(crate) struct Background {
    failing: Mutex<HashMap<Piece, Failing>>,
    failures: [AtomicU64; Work::ALL.len()],
}

/// A kind of work for one collection, or for none in particular.
type Piece = (Work, Option<CollectionId>);

struct Failing {
    why: String,
    in_a_row: u32,
    /// How often it is still left out.
    left_out: u32,
}

impl Background {
    /// Runs one piece of work. Nothing comes back if it fails, or if it is left out because it failed lately.
    pub(crate) async fn run<T, E: Display>(
        &self,
        work: Work,
        cid: Option<CollectionId>,
        task: impl Future<Output = Result<T, E>>,
    ) -> Option<T> {
        let piece = (work, cid);
        if self.is_left_out(piece) {
            return None;
        }
        let why = match caught(task).await {
            Ok(Ok(done)) => {
                self.succeeded(piece);
                return Some(done);
            }
            Ok(Err(error)) => error.to_string(),
            Err(panicked) => format!("panicked: {panicked}"),
        };
        self.failed(piece, why);
        None
    }

    /// Forgets collections that are no more; those whose data is being removed are none any more.
    pub(crate) fn keep(&self, exists: impl Fn(CollectionId) -> bool) {
        let mut failing = self.failing.lock();
        failing.retain(|(work, cid), _| *work == Work::Drops || cid.is_none_or(&exists));
    }

    pub(crate) fn states(&self) -> Vec<WorkState> {
        let failing = self.failing.lock();
        let state = |work: Work| WorkState {
            work,
            failures: self.failures[work as usize].load(Ordering::Relaxed),
            failing: failing.keys().filter(|piece| piece.0 == work).count() as u64,
        };
        Work::ALL.map(state).to_vec()
    }

    fn is_left_out(&self, piece: Piece) -> bool {
        match self.failing.lock().get_mut(&piece) {
            Some(failing) if failing.left_out > 0 => {
                failing.left_out -= 1;
                true
            }
            Some(_) | None => false,
        }
    }

    fn succeeded(&self, (work, cid): Piece) {
        if self.failing.lock().remove(&(work, cid)).is_some() {
            let collection = cid.map(|cid| cid.0);
            tracing::info!(
                work = work.name(),
                collection,
                "background work succeeds again"
            );
        }
    }

    fn failed(&self, (work, cid): Piece, why: String) {
        self.failures[work as usize].fetch_add(1, Ordering::Relaxed);
        let mut all = self.failing.lock();
        let failing = all.entry((work, cid)).or_insert_with(|| Failing {
            why: String::new(),
            in_a_row: 0,
            left_out: 0,
        });
        failing.in_a_row = failing.in_a_row.saturating_add(1);
        failing.left_out = 2_u32.saturating_pow(failing.in_a_row).min(LEFT_OUT_MAX);
        // The same failure again is counted, not logged.
        if failing.why != why {
            let collection = cid.map(|cid| cid.0);
            tracing::error!(
                work = work.name(),
                collection,
                error = why,
                "background work failed; it is tried again, other work goes on"
            );
            failing.why = why;
        }
    }
}

/// Runs a task; a panic in it becomes an error that has its text.
async fn caught<F: Future>(task: F) -> Result<F::Output, String> {
    let mut task = pin!(task);
    // What a task that panicked leaves behind is dropped with it; what it shares with others is behind locks that do not
    // poison and hold no half-made state across an await.
    poll_fn(|context| {
        let poll = || task.as_mut().poll(context);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().map(ToString::to_string);
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                Poll::Ready(Err(text.unwrap_or_else(|| "no message".to_owned())))
            }
        }
    })
    .await
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    const A: Option<CollectionId> = Some(CollectionId(1));
    const B: Option<CollectionId> = Some(CollectionId(2));

    async fn run(
        background: &Background,
        cid: Option<CollectionId>,
        result: Result<u8, &str>,
    ) -> Option<u8> {
        background.run(Work::Purge, cid, async { result }).await
    }

    fn state(background: &Background) -> (u64, u64) {
        let states = background.states();
        let state = states.iter().find(|state| state.work == Work::Purge);
        let state = state.unwrap();
        (state.failures, state.failing)
    }

    #[test]
    fn each_kind_has_its_own_place() {
        for (at, work) in Work::ALL.into_iter().enumerate() {
            assert_eq!(work as usize, at);
        }
    }

    #[test]
    fn one_that_fails_is_left_out_more_and_more_often_and_others_are_not() {
        lapsedb_testkit::run(async {
            let background = Background::default();
            let mut attempts = Vec::new();
            for turn in 0..200 {
                let before = state(&background).0;
                assert_eq!(run(&background, A, Err("damaged")).await, None);
                assert_eq!(run(&background, B, Ok(7)).await, Some(7));
                if state(&background).0 > before {
                    attempts.push(turn);
                }
            }
            // Left out 2, 4, 8, 16, 32, 64 and then always 64 times.
            assert_eq!(attempts, [0, 3, 8, 17, 34, 67, 132, 197]);
            assert_eq!(state(&background), (8, 1));
        });
    }

    #[test]
    fn one_that_succeeds_again_or_is_dropped_is_forgotten() {
        lapsedb_testkit::run(async {
            let background = Background::default();
            run(&background, A, Err("damaged")).await;
            run(&background, B, Err("damaged")).await;
            assert_eq!(state(&background), (2, 2));
            background.keep(|cid| Some(cid) == A);
            assert_eq!(state(&background), (2, 1));
            for _ in 0..2 {
                assert_eq!(run(&background, A, Ok(7)).await, None);
            }
            assert_eq!(run(&background, A, Ok(7)).await, Some(7));
            assert_eq!(state(&background), (2, 0));
        });
    }

    #[test]
    fn a_panic_is_a_failure() {
        lapsedb_testkit::run(async {
            let background = Background::default();
            let task = async {
                tokio::task::yield_now().await;
                assert!(background.states().is_empty(), "a defect");
                Ok::<(), String>(())
            };
            assert_eq!(background.run(Work::Purge, A, task).await, None);
            assert_eq!(state(&background), (1, 1));
            let failing = background.failing.lock();
            assert_eq!(failing[&(Work::Purge, A)].why, "panicked: a defect");
        });
    }
}
