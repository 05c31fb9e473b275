//! What only a backend that can be stopped or broken shows.

use std::sync::atomic::AtomicBool;
use std::task::Poll;

use bytes::Bytes;
use lapsedb_testkit::TimeLimit;

use super::*;
use crate::suite::{HandTime, all, wait};

/// Writes only when it may, and fails when told to.
struct Gate {
    closed: Arc<(Mutex<bool>, Condvar)>,
    entered: Arc<AtomicBool>,
    broken: Arc<AtomicBool>,
    full: Arc<AtomicBool>,
    writes: Arc<AtomicU64>,
}

struct Marked(Mark);

impl View for Marked {
    type Slice = Bytes;

    fn mark(&self) -> Mark {
        self.0
    }

    fn get(&self, _space: Space, _key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        Ok(None)
    }
}

impl Backend for Gate {
    type View = Marked;

    fn caps(&self) -> Caps {
        Caps {
            name: "gate",
            key_bytes_max: 100,
            value_bytes_max: 100,
            batch_bytes_max: 1000,
            judged: false,
            durable: false,
        }
    }

    fn write(&self, _changes: Vec<Change>, mark: Mark) -> Result<Marked, EngineError> {
        self.entered.store(true, Ordering::SeqCst);
        self.writes.fetch_add(1, Ordering::SeqCst);
        let (closed, opened) = &*self.closed;
        let mut closed = closed.lock();
        while *closed {
            opened.wait(&mut closed);
        }
        if self.broken.load(Ordering::SeqCst) {
            return Err(EngineError::Io("no space".to_owned()));
        }
        if self.full.load(Ordering::SeqCst) {
            return Err(EngineError::NoSpace("full".to_owned()));
        }
        Ok(Marked(mark))
    }
}

struct Bench {
    sequencer: Sequencer<Gate>,
    closed: Arc<(Mutex<bool>, Condvar)>,
    entered: Arc<AtomicBool>,
    broken: Arc<AtomicBool>,
    full: Arc<AtomicBool>,
    writes: Arc<AtomicU64>,
    time: Arc<HandTime>,
    _limit: TimeLimit,
}

fn bench() -> Bench {
    let closed = Arc::new((Mutex::new(false), Condvar::new()));
    let entered = Arc::new(AtomicBool::new(false));
    let broken = Arc::new(AtomicBool::new(false));
    let full = Arc::new(AtomicBool::new(false));
    let writes = Arc::new(AtomicU64::new(0));
    let time = HandTime::at(99);
    let gate = Gate {
        closed: closed.clone(),
        entered: entered.clone(),
        broken: broken.clone(),
        full: full.clone(),
        writes: writes.clone(),
    };
    let sequencer = Sequencer::start(gate, Marked(Mark::default()), time.clone()).unwrap();
    Bench {
        sequencer,
        closed,
        entered,
        broken,
        full,
        writes,
        time,
        _limit: TimeLimit::start(),
    }
}

impl Bench {
    fn gate(&self, closed: bool) {
        *self.closed.0.lock() = closed;
        self.closed.1.notify_all();
    }

    fn until_entered(&self) {
        while !self.entered.swap(false, Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }
}

fn batch(not_after: Option<Millis>) -> Batch {
    let mut batch = Batch::new();
    batch.put(Space::Items, &b"k"[..], &b"v"[..]);
    batch.not_after = not_after;
    batch
}

/// The batch was decided at 99 and would be too late at 100. A reader at 100 must not look before
/// the batch is there: it would find expired what the batch then brings back.
#[test]
fn readers_past_the_limit_wait_for_the_write() {
    let bench = bench();
    bench.gate(true);
    let answers = wait(all([bench.sequencer.commit(batch(Some(100)))], async {
        bench.until_entered();
        // Before the limit nobody waits.
        let (view, now) = bench.sequencer.snapshot().await.unwrap();
        assert_eq!((view.0.stamp, now), (Stamp(0), 99));
        bench.time.set(100);
        let mut reader = Box::pin(bench.sequencer.snapshot());
        let first = std::future::poll_fn(|cx| Poll::Ready(reader.as_mut().poll(cx))).await;
        assert!(first.is_pending());
        bench.gate(false);
        let (view, now) = reader.await.unwrap();
        assert_eq!((view.0.stamp, now), (Stamp(1), 100));
    }));
    let expected = Committed {
        stamp: Stamp(1),
        now: 99,
    };
    assert_eq!(answers, [Ok(expected)]);
}

/// What such a batch says holds from 99 on. A reader at 99 or later must not look before it is there.
#[test]
fn all_readers_wait_for_a_batch_that_holds_them() {
    let bench = bench();
    bench.gate(true);
    let mut held = batch(None);
    held.hold_readers();
    let answers = wait(all([bench.sequencer.commit(held)], async {
        bench.until_entered();
        let mut reader = Box::pin(bench.sequencer.snapshot());
        let first = std::future::poll_fn(|cx| Poll::Ready(reader.as_mut().poll(cx))).await;
        assert!(first.is_pending());
        bench.gate(false);
        let (view, now) = reader.await.unwrap();
        assert_eq!((view.0.stamp, now), (Stamp(1), 99));
    }));
    assert!(answers[0].is_ok());
}

#[test]
fn readers_do_not_wait_for_what_was_refused() {
    let bench = bench();
    bench.gate(true);
    // One write is held up; the next group holds a batch that is too late and one without limit.
    let commits = [None, Some(50), None].map(|limit| bench.sequencer.commit(batch(limit)));
    let answers = wait(all(commits, async {
        bench.until_entered();
        bench.time.set(200);
        let (view, now) = bench.sequencer.snapshot().await.unwrap();
        assert_eq!((view.0.stamp, now), (Stamp(0), 200));
        bench.gate(false);
    }));
    assert!(answers[0].is_ok() && answers[2].is_ok());
    assert_eq!(answers[1], Err(CommitError::TooLate));
}

#[test]
fn after_a_failed_write_nothing_is_written_but_reading_goes_on() {
    let bench = bench();
    wait(bench.sequencer.commit(batch(None))).unwrap();
    bench.gate(true);
    bench.broken.store(true, Ordering::SeqCst);
    bench.entered.store(false, Ordering::SeqCst);
    let commits = (0..5).map(|_| bench.sequencer.commit(batch(Some(100))));
    let answers = wait(all(commits, async {
        bench.until_entered();
        bench.gate(false);
    }));
    let stopped =
        |answer: &Result<_, _>| matches!(answer, Err(CommitError::Failed(EngineError::Io(_))));
    let unknown =
        |answer: &Result<_, _>| matches!(answer, Err(CommitError::Unknown(EngineError::Io(_))));
    // What was being written may be on disk; what waited is not.
    assert!(unknown(&answers[0]), "{answers:?}");
    assert!(
        answers
            .iter()
            .all(|answer| unknown(answer) || stopped(answer)),
        "{answers:?}"
    );
    // The disk may be well again: that is no reason to trust it.
    bench.broken.store(false, Ordering::SeqCst);
    assert!(stopped(&wait(bench.sequencer.commit(batch(None)))));
    bench.time.set(1_000);
    let (view, now) = wait(bench.sequencer.snapshot()).unwrap();
    assert_eq!((view.0.stamp, now), (Stamp(1), 1_000));
    wait(bench.sequencer.close());
}

fn removal() -> Batch {
    let mut batch = Batch::new();
    batch.delete(Space::Items, &b"k"[..]);
    batch
}

#[test]
fn without_room_only_removing_is_tried_and_writing_comes_back_by_itself() {
    let bench = bench();
    wait(bench.sequencer.commit(batch(None))).unwrap();
    bench.full.store(true, Ordering::SeqCst);
    let no_space = EngineError::NoSpace("full".to_owned());
    let unknown = Err(CommitError::Unknown(no_space.clone()));
    assert_eq!(wait(bench.sequencer.commit(batch(None))), unknown);
    assert_eq!(bench.sequencer.halted(), Some(no_space.clone()));
    let refused = Err(CommitError::Failed(no_space));
    assert_eq!(wait(bench.sequencer.commit(batch(None))), refused);
    assert_eq!(wait(bench.sequencer.commit(removal())), unknown);
    bench.full.store(false, Ordering::SeqCst);
    while bench.sequencer.halted().is_some() {
        std::thread::yield_now();
    }
    let committed = wait(bench.sequencer.commit(batch(None))).unwrap();
    assert_eq!(
        committed.stamp,
        Stamp(2),
        "what failed took no place in the order"
    );
}

#[test]
fn an_engine_that_finds_no_room_for_ever_stops() {
    let bench = bench();
    bench.full.store(true, Ordering::SeqCst);
    for _ in 0..=room::IN_VAIN_MAX {
        // Besides these it tries by itself.
        let _ = wait(bench.sequencer.commit(removal()));
    }
    bench.full.store(false, Ordering::SeqCst);
    let stopped = bench.sequencer.halted();
    assert!(matches!(stopped, Some(EngineError::Io(_))), "{stopped:?}");
    assert!(matches!(
        wait(bench.sequencer.commit(removal())),
        Err(CommitError::Failed(EngineError::Io(_)))
    ));
}

#[test]
fn waiting_commits_share_a_write() {
    let bench = bench();
    bench.gate(true);
    let first = wait(all([bench.sequencer.commit(batch(None))], async {
        bench.until_entered();
        // All that are sent during the first write go into the second.
        let rest = (0..100).map(|_| bench.sequencer.commit(batch(None)));
        let rest = all(rest, async { bench.gate(false) }).await;
        let stamps: Vec<_> = rest
            .into_iter()
            .map(|answer| answer.unwrap().stamp.0)
            .collect();
        assert_eq!(stamps, (2..=101).collect::<Vec<_>>());
        assert_eq!(bench.writes.load(Ordering::SeqCst), 2);
    }));
    assert_eq!(first[0].as_ref().unwrap().stamp, Stamp(1));
}

#[test]
fn a_full_queue_says_try_again() {
    let bench = bench();
    bench.gate(true);
    let mut refused = 0;
    let commits = (0..QUEUE_BATCHES_MAX + GROUP_BATCHES_MAX + 10)
        .map(|_| bench.sequencer.commit(batch(None)));
    let answers = wait(all(commits, async {
        bench.until_entered();
        bench.gate(false);
    }));
    for answer in answers {
        match answer {
            Ok(_) => {}
            Err(CommitError::Retryable(_)) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > 0);
    assert!(wait(bench.sequencer.commit(batch(None))).is_ok());
}
