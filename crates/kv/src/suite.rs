//! What every engine must do, run on every engine.

mod cases;
mod model;
mod random;
mod together;

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use lapsedb_testkit::TimeLimit;

use crate::*;

/// A time that is moved by hand. It leaves its number in the store, as the real clock does.
#[derive(Default)]
pub(crate) struct HandTime(AtomicU64);

impl HandTime {
    pub fn at(now: Millis) -> Arc<HandTime> {
        Arc::new(HandTime(AtomicU64::new(now)))
    }

    pub fn set(&self, now: Millis) {
        self.0.store(now, Ordering::SeqCst);
    }
}

pub(crate) const FLOOR_KEY: &[u8] = b"clock floor";

impl Time for HandTime {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }

    fn checkpoint(&self, now: Millis) -> Option<(Vec<u8>, Vec<u8>)> {
        Some((FLOOR_KEY.to_vec(), now.to_be_bytes().to_vec()))
    }
}

/// An empty engine, its time, and the folder it lives in.
pub(crate) struct Bench {
    pub engine: Arc<AnyEngine>,
    pub time: Arc<HandTime>,
    _folder: Option<tempfile::TempDir>,
    _limit: TimeLimit,
}

pub(crate) fn memory() -> Bench {
    let time = HandTime::at(1_000);
    let engine = open(OpenOptions {
        kind: EngineKind::Memory,
        time: time.clone(),
        judge: crate::judge::mercy(),
    })
    .unwrap();
    Bench {
        engine: Arc::new(engine),
        time,
        _folder: None,
        _limit: TimeLimit::start(),
    }
}

#[cfg(feature = "rocksdb")]
pub(crate) fn rocksdb() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let time = HandTime::at(1_000);
    let kind = EngineKind::Rocksdb {
        path: folder.path().to_owned(),
        relaxed: true,
    };
    let engine = open(OpenOptions {
        kind,
        time: time.clone(),
        judge: crate::judge::mercy(),
    })
    .unwrap();
    Bench {
        engine: Arc::new(engine),
        time,
        _folder: Some(folder),
        _limit: TimeLimit::start(),
    }
}

/// Runs a future that needs neither timers nor sockets. Called thousands of times by a test, so with the cheapest runtime.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let _limit = TimeLimit::start();
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// Polls all futures once, so that their batches are on their way; then runs `meanwhile`, and then
/// waits for all of them.
pub(crate) async fn all<F: Future>(
    futures: impl IntoIterator<Item = F>,
    meanwhile: impl Future<Output = ()>,
) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    let mut poll = |cx: &mut Context<'_>| {
        for (future, result) in waiting.iter_mut().filter(|(_, result)| result.is_none()) {
            if let Poll::Ready(value) = future.as_mut().poll(cx) {
                *result = Some(value);
            }
        }
        waiting.iter().all(|(_, result)| result.is_some())
    };
    poll_fn(|cx| Poll::Ready(poll(cx))).await;
    meanwhile.await;
    poll_fn(|cx| {
        if poll(cx) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    waiting
        .into_iter()
        .filter_map(|(_, result)| result)
        .collect()
}

impl Bench {
    pub fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        wait(self.engine.commit(batch))
    }

    pub fn snapshot(&self) -> AnySnapshot {
        wait(self.engine.snapshot()).unwrap()
    }

    pub fn get(&self, space: Space, key: &[u8]) -> Option<Vec<u8>> {
        get(&self.snapshot(), space, key)
    }
}

pub(crate) fn get(snapshot: &impl Snapshot, space: Space, key: &[u8]) -> Option<Vec<u8>> {
    wait(snapshot.get(space, key))
        .unwrap()
        .map(|value| value.as_ref().to_vec())
}

/// Runs each case on each engine: one test per line and engine.
macro_rules! on_every_engine {
    ($($case:path as $name:ident;)*) => {
        mod on_memory {
            $(#[test] fn $name() { $case($crate::suite::memory); })*
        }
        #[cfg(feature = "rocksdb")]
        mod on_rocksdb {
            $(#[test] fn $name() { $case($crate::suite::rocksdb); })*
        }
    };
}

on_every_engine! {
    super::cases::commits_are_seen_in_order as commits_are_seen_in_order;
    super::cases::fills_are_written as fills_are_written;
    super::cases::failed_checks_leave_no_trace as failed_checks_leave_no_trace;
    super::cases::what_was_absent_is_asked_again_once_others_have_committed as what_was_absent_is_asked_again_once_others_have_committed;
    super::cases::checks_alone_take_no_stamp as checks_alone_take_no_stamp;
    super::cases::late_batches_are_refused as late_batches_are_refused;
    super::cases::time_never_steps_back as time_never_steps_back;
    super::cases::the_clock_leaves_its_floor as the_clock_leaves_its_floor;
    super::cases::sums_add_up_and_vanish as sums_add_up_and_vanish;
    super::cases::ops_apply_in_order as ops_apply_in_order;
    super::cases::pages_keep_their_limits as pages_keep_their_limits;
    super::cases::spaces_are_apart as spaces_are_apart;
    super::cases::snapshots_stand_still as snapshots_stand_still;
    super::cases::broken_batches_are_refused as broken_batches_are_refused;
    super::cases::dropped_ranges_are_gone as dropped_ranges_are_gone;
    super::cases::a_commit_survives_its_caller as a_commit_survives_its_caller;
    super::cases::closing_finishes_and_refuses as closing_finishes_and_refuses;
    super::random::agrees_with_the_model as agrees_with_the_model;
    super::together::one_creator_wins as one_creator_wins;
    super::together::sharing_a_check_is_no_conflict as sharing_a_check_is_no_conflict;
    super::together::snapshots_never_see_half_a_batch as snapshots_never_see_half_a_batch;
    super::together::the_order_of_stamps_explains_everything as the_order_of_stamps_explains_everything;
}
