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
    failure: Arc<Mutex<Option<EngineError>>>,
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
        match self.failure.lock().clone() {
            Some(failure) => Err(failure),
            None => Ok(Marked(mark)),
        }
    }
}

struct Bench {
    sequencer: Sequencer<Gate>,
    closed: Arc<(Mutex<bool>, Condvar)>,
    entered: Arc<AtomicBool>,
    failure: Arc<Mutex<Option<EngineError>>>,
    writes: Arc<AtomicU64>,
    time: Arc<HandTime>,
    _limit: TimeLimit,
}

fn bench() -> Bench {
    let closed = Arc::new((Mutex::new(false), Condvar::new()));
    let entered = Arc::new(AtomicBool::new(false));
    let failure = Arc::default();
    let writes = Arc::new(AtomicU64::new(0));
    let time = HandTime::at(99);
    let gate = Gate {
        closed: closed.clone(),
        entered: entered.clone(),
        failure: Arc::clone(&failure),
        writes: writes.clone(),
    };
    let sequencer = Sequencer::start(gate, Marked(Mark::default()), time.clone()).unwrap();
    Bench {
        sequencer,
        closed,
        entered,
        failure,
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

    /// How writes fail from now on, if they do.
    fn fail(&self, failure: Option<EngineError>) {
        *self.failure.lock() = failure;
    }

    fn until_writing_goes_on(&self) {
        while self.sequencer.halted().is_some() {
            std::thread::yield_now();
        }
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
    bench.fail(Some(EngineError::Io("a failed sync".to_owned())));
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
    bench.fail(None);
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

/// The errors that pass.
fn passing() -> [EngineError; 2] {
    [
        EngineError::NoSpace("full".to_owned()),
        EngineError::NoFiles("too many".to_owned()),
    ]
}

#[test]
fn without_room_only_removing_is_tried_and_writing_comes_back_by_itself() {
    for failure in passing() {
        let bench = bench();
        wait(bench.sequencer.commit(batch(None))).unwrap();
        assert!(bench.sequencer.outcomes_are_known());
        bench.fail(Some(failure.clone()));
        let unknown = Err(CommitError::Unknown(failure.clone()));
        assert_eq!(wait(bench.sequencer.commit(batch(None))), unknown);
        assert!(!bench.sequencer.outcomes_are_known());
        assert_eq!(bench.sequencer.halted(), Some(failure.clone()));
        let refused = Err(CommitError::Failed(failure));
        assert_eq!(wait(bench.sequencer.commit(batch(None))), refused);
        assert_eq!(wait(bench.sequencer.commit(removal())), unknown);
        bench.fail(None);
        bench.until_writing_goes_on();
        assert!(bench.sequencer.outcomes_are_known());
        let committed = wait(bench.sequencer.commit(batch(None))).unwrap();
        assert_eq!(
            committed.stamp,
            Stamp(2),
            "what failed took no place in the order"
        );
    }
}

/// How many writes come while the engine beneath recovers is up to the clients, and says nothing about whether it will.
#[test]
fn writing_comes_back_however_many_writes_have_failed() {
    const WRITES: usize = 1_000;
    for failure in passing() {
        let bench = bench();
        bench.fail(Some(failure.clone()));
        for _ in 0..WRITES {
            let answer = wait(bench.sequencer.commit(removal()));
            assert_eq!(answer, Err(CommitError::Unknown(failure.clone())));
        }
        bench.fail(None);
        bench.until_writing_goes_on();
        wait(bench.sequencer.commit(batch(None))).unwrap();
    }
}

/// Polls once, which sends the batch on its way.
async fn begin<F: Future>(commit: &mut std::pin::Pin<Box<F>>) {
    std::future::poll_fn(|cx| {
        let _ = commit.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

#[test]
fn what_follows_a_commit_follows_also_when_nobody_waits_for_it() {
    let bench = bench();
    let followed = Arc::new(Mutex::new(Vec::new()));
    let then = |name: &'static str| -> Then {
        let followed = Arc::clone(&followed);
        Box::new(move |committed| followed.lock().push((name, committed.stamp)))
    };
    let commit = |name| Box::pin(bench.sequencer.commit_then(batch(Some(100)), then(name)));
    wait(async {
        commit("awaited").await.unwrap();
        assert_eq!(followed.lock().last(), Some(&("awaited", Stamp(1))));
        // Given up before it is written.
        bench.gate(true);
        bench.entered.store(false, Ordering::SeqCst);
        let mut early = commit("given up early");
        begin(&mut early).await;
        bench.until_entered();
        drop(early);
        assert_eq!(followed.lock().len(), 1);
        // Given up when it is written and its answer has not been taken.
        let mut late = commit("given up late");
        begin(&mut late).await;
        bench.gate(false);
        commit("another").await.unwrap();
        drop(late);
        // Nothing follows a batch that was refused, whether or not somebody waits.
        bench.time.set(100);
        assert_eq!(commit("refused").await, Err(CommitError::TooLate));
        let mut refused = commit("refused and given up");
        begin(&mut refused).await;
        drop(refused);
        bench.sequencer.commit(batch(None)).await.unwrap();
    });
    let mut followed = followed.lock().clone();
    followed.sort_by_key(|(_, stamp)| *stamp);
    let expected = [
        ("awaited", Stamp(1)),
        ("given up early", Stamp(2)),
        ("given up late", Stamp(3)),
        ("another", Stamp(4)),
    ];
    assert_eq!(followed, expected);
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
