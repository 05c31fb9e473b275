//! Work between requests, each piece by itself: one that fails or panics is logged once, counted and tried again later, and
//! all others go on.

use std::collections::HashMap;
use std::fmt::Display;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use lapsedb_store::CollectionId;
use parking_lot::Mutex;

use crate::caught::caught;

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
    /// Figures for the metrics page and for answers about items.
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

/// What is run, fails and succeeds by itself. Each place that runs something has its own: two that shared one would clear each other's
/// failures, and leave each other out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// Forgetting sessions and what belongs to them.
    ForgetSessions,
    /// Making the clock durable.
    KeepClock,
    /// Finding dropped collections whose data is still there.
    FindDrops,
    /// Removing the data of one.
    DropData(CollectionId),
    /// Keeping the changes of all collections of the MongoDB API, and of one.
    KeepAllChanges,
    KeepChanges(CollectionId),
    /// Emitting expiry events and removing old versions, of all collections and of one.
    KeepAllVersions,
    KeepVersions(CollectionId),
    /// Finishing named indexes: looking for them, removing what dropped ones have left, building one by its number.
    FinishIndexes,
    RemoveIndexes(CollectionId),
    BuildNamedIndex(CollectionId, u32),
    /// Building the index of an indexing policy: looking for collections that need it, and one of them.
    FindIndexBuilds,
    BuildIndex(CollectionId),
    /// Removing expired items, of all collections and of one.
    PurgeAll,
    Purge(CollectionId),
    /// Rewriting what was purged: choosing a collection, asking whether it is worth it, and a part of it.
    RewriteNext,
    WeighRewrite(CollectionId),
    Rewrite(CollectionId),
    /// Counting one collection for the metrics page.
    Count(CollectionId),
    /// Counting what those hold that clients ask about, and one of them.
    CountAsked,
    CountUsage(CollectionId),
}

impl Piece {
    /// Of which kind it is.
    const fn work(self) -> Work {
        match self {
            Piece::ForgetSessions => Work::Sessions,
            Piece::KeepClock => Work::Clock,
            Piece::FindDrops | Piece::DropData(_) => Work::Drops,
            Piece::KeepAllChanges
            | Piece::KeepChanges(_)
            | Piece::KeepAllVersions
            | Piece::KeepVersions(_) => Work::Versions,
            Piece::FinishIndexes
            | Piece::RemoveIndexes(_)
            | Piece::BuildNamedIndex(..)
            | Piece::FindIndexBuilds
            | Piece::BuildIndex(_) => Work::Indexes,
            Piece::PurgeAll | Piece::Purge(_) => Work::Purge,
            Piece::RewriteNext | Piece::WeighRewrite(_) | Piece::Rewrite(_) => Work::Rewrite,
            Piece::Count(_) | Piece::CountAsked | Piece::CountUsage(_) => Work::Figures,
        }
    }

    /// For which collection, if it is for one.
    const fn collection(self) -> Option<CollectionId> {
        match self {
            Piece::DropData(cid)
            | Piece::KeepChanges(cid)
            | Piece::KeepVersions(cid)
            | Piece::RemoveIndexes(cid)
            | Piece::BuildNamedIndex(cid, _)
            | Piece::BuildIndex(cid)
            | Piece::Purge(cid)
            | Piece::WeighRewrite(cid)
            | Piece::Rewrite(cid)
            | Piece::Count(cid)
            | Piece::CountUsage(cid) => Some(cid),
            Piece::ForgetSessions
            | Piece::KeepClock
            | Piece::FindDrops
            | Piece::KeepAllChanges
            | Piece::KeepAllVersions
            | Piece::FinishIndexes
            | Piece::FindIndexBuilds
            | Piece::PurgeAll
            | Piece::RewriteNext
            | Piece::CountAsked => None,
        }
    }
}

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
        piece: Piece,
        task: impl Future<Output = Result<T, E>>,
    ) -> Option<T> {
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
        failing.retain(|piece, _| {
            piece.work() == Work::Drops || piece.collection().is_none_or(&exists)
        });
    }

    pub(crate) fn states(&self) -> Vec<WorkState> {
        let failing = self.failing.lock();
        let state = |work: Work| WorkState {
            work,
            failures: self.failures[work as usize].load(Ordering::Relaxed),
            failing: failing.keys().filter(|piece| piece.work() == work).count() as u64,
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

    fn succeeded(&self, piece: Piece) {
        if self.failing.lock().remove(&piece).is_some() {
            tracing::info!(
                work = piece.work().name(),
                collection = piece.collection().map(|cid| cid.0),
                ?piece,
                "background work succeeds again"
            );
        }
    }

    fn failed(&self, piece: Piece, why: String) {
        self.failures[piece.work() as usize].fetch_add(1, Ordering::Relaxed);
        let mut all = self.failing.lock();
        let failing = all.entry(piece).or_insert_with(|| Failing {
            why: String::new(),
            in_a_row: 0,
            left_out: 0,
        });
        failing.in_a_row = failing.in_a_row.saturating_add(1);
        failing.left_out = 2_u32.saturating_pow(failing.in_a_row).min(LEFT_OUT_MAX);
        // The same failure again is counted, not logged.
        if failing.why != why {
            tracing::error!(
                work = piece.work().name(),
                collection = piece.collection().map(|cid| cid.0),
                ?piece,
                error = why,
                "background work failed; it is tried again, other work goes on"
            );
            failing.why = why;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    const A: CollectionId = CollectionId(1);
    const B: CollectionId = CollectionId(2);

    async fn run(
        background: &Background,
        cid: CollectionId,
        result: Result<u8, &str>,
    ) -> Option<u8> {
        background.run(Piece::Purge(cid), async { result }).await
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
            background.keep(|cid| cid == A);
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
            assert_eq!(background.run(Piece::Purge(A), task).await, None);
            assert_eq!(state(&background), (1, 1));
            let failing = background.failing.lock();
            assert_eq!(failing[&Piece::Purge(A)].why, "panicked: a defect");
        });
    }

    /// All pieces of one collection, two of its named indexes, one piece of another collection, and those of none.
    fn pieces() -> Vec<Piece> {
        let of_none = [
            Piece::ForgetSessions,
            Piece::KeepClock,
            Piece::FindDrops,
            Piece::KeepAllChanges,
            Piece::KeepAllVersions,
            Piece::FinishIndexes,
            Piece::FindIndexBuilds,
            Piece::PurgeAll,
            Piece::RewriteNext,
        ];
        let of_one = [
            Piece::DropData,
            Piece::KeepChanges,
            Piece::KeepVersions,
            Piece::RemoveIndexes,
            Piece::BuildIndex,
            Piece::Purge,
            Piece::WeighRewrite,
            Piece::Rewrite,
            Piece::Count,
        ];
        let mut pieces = of_none.to_vec();
        pieces.extend(of_one.map(|of| of(A)));
        pieces.extend([1, 2].map(|number| Piece::BuildNamedIndex(A, number)));
        pieces.push(Piece::Purge(B));
        pieces
    }

    #[test]
    fn no_piece_clears_the_failure_of_another() {
        lapsedb_testkit::run(async {
            let failing = |background: &Background| -> u64 {
                background.states().iter().map(|state| state.failing).sum()
            };
            for failed in pieces() {
                let background = Background::default();
                let task = async { Err::<(), _>("damaged") };
                background.run(failed, task).await;
                for other in pieces().into_iter().filter(|other| *other != failed) {
                    let done = background.run(other, async { Ok::<_, String>(7) }).await;
                    assert_eq!(done, Some(7), "{other:?} was left out for {failed:?}");
                    assert_eq!(failing(&background), 1, "{other:?} cleared {failed:?}");
                }
            }
        });
    }
}
