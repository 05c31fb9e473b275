//! The one place where an embedded engine orders commits.
//!
//! A thread of its own takes whatever waits, decides each batch in turn, and writes all of them
//! at once: one write, one fsync, then everybody is answered. So stamps become visible in order,
//! a refused batch leaves no trace, and the cost of an fsync is shared by those who wait for it.
//!
//! Time needs care. A batch that holds at 99.9 may be on the disk only at 100.4. Its `not_after`
//! says that something it found alive ends at, say, 100.0; a reader at 100.1 who does not see the
//! batch yet would find that thing gone, and later back again. So the sequencer shows the least
//! `not_after` of what it is writing before it reads the time, and a reader whose time has reached
//! it waits for that one write. A reader who came too early to see the notice has read a time that
//! the sequencer will not undercut, so there the batch is the one that comes too late.
//! A batch that says something of the very instant of its commit holds all readers for that one write.

mod room;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, RwLock};
use tokio::sync::{Notify, oneshot, watch};

use self::room::Room;
use crate::batch::{Batch, STAMP_MAX};
use crate::engine::{Caps, CommitError, Committed, EngineError, Millis, Space, Stamp, Then, Time};
use crate::group::{Change, Group, Mark, View};

/// Batches that may wait; beyond this a commit is told to try again.
const QUEUE_BATCHES_MAX: usize = 16 * 1024;
/// Batches of one write.
const GROUP_BATCHES_MAX: usize = 1024;
/// A write takes no further batch once it has reached so many bytes.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How long a write waits for those who shared the last one and are likely about to come again.
/// They were all answered at once, so without this the first to return would take the disk alone
/// and the others would wait for two writes. A fraction of what an fsync costs.
const GATHER_MAX: Duration = Duration::from_micros(100);
/// The notice of a sequencer that writes nothing with a limit.
const NO_LIMIT: Millis = Millis::MAX;

/// What lies beneath: it keeps changes and shows them. Only the sequencer's thread writes.
pub(crate) trait Backend: Send + Sync + 'static {
    type View: View;
    fn caps(&self) -> Caps;
    /// Writes all changes and the mark as one, and returns the state after them.
    fn write(&self, changes: Vec<Change>, mark: Mark) -> Result<Self::View, EngineError>;
    /// Why nothing may be added at present, though something may be removed.
    fn out_of_room(&self) -> Option<EngineError> {
        None
    }
}

pub(crate) struct Sequencer<B: Backend> {
    shared: Arc<Shared<B>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared<B: Backend> {
    backend: B,
    time: RwLock<Arc<dyn Time>>,
    queue: Mutex<Queue>,
    wake: Condvar,
    current: RwLock<Arc<B::View>>,
    least_limit: AtomicU64,
    published: Notify,
    ended: watch::Sender<bool>,
}

struct Queue {
    waiting: VecDeque<Request>,
    /// How many must wait before the sequencer is woken.
    wanted: usize,
    /// Why nothing more is taken, once that is so.
    refusal: Option<EngineError>,
    room: Room,
}

struct Request {
    batch: Batch,
    bytes: usize,
    /// Stamps it needs behind its own.
    further: u64,
    then: Then,
    answer: oneshot::Sender<Answer>,
}

type Answers = Vec<(oneshot::Sender<Answer>, Answer)>;

/// How a batch has ended. What follows a commit is done when this is dropped, wherever that is: with whoever waited, or in the
/// channel that nobody reads any more because the client has hung up.
struct Answer {
    result: Result<Committed, CommitError>,
    then: Option<Then>,
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let (Ok(committed), Some(then)) = (&self.result, self.then.take()) {
            then(*committed);
        }
    }
}

impl<B: Backend> Sequencer<B> {
    pub fn start(backend: B, view: B::View, time: Arc<dyn Time>) -> Result<Self, EngineError> {
        let shared = Arc::new(Shared {
            backend,
            time: RwLock::new(time),
            queue: Mutex::new(Queue {
                waiting: VecDeque::new(),
                wanted: 1,
                refusal: None,
                room: Room::default(),
            }),
            wake: Condvar::new(),
            current: RwLock::new(Arc::new(view)),
            least_limit: AtomicU64::new(NO_LIMIT),
            published: Notify::new(),
            ended: watch::Sender::new(false),
        });
        let inside = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("commit".to_owned())
            .spawn(move || inside.run())
            .map_err(|error| EngineError::Io(format!("no thread for commits: {error}")))?;
        Ok(Sequencer {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    #[cfg(feature = "rocksdb")]
    pub fn backend(&self) -> &B {
        &self.shared.backend
    }

    pub fn set_time(&self, time: Arc<dyn Time>) {
        *self.shared.time.write() = time;
    }

    /// The newest state and the time at which to look at it.
    pub async fn snapshot(&self) -> Result<(Arc<B::View>, Millis), EngineError> {
        let shared = &*self.shared;
        let now = shared.time.read().now();
        // Orders the reading of the time before that of the notice; see the head of the file.
        fence(Ordering::SeqCst);
        if now >= shared.least_limit.load(Ordering::SeqCst) {
            let mut published = std::pin::pin!(shared.published.notified());
            published.as_mut().enable();
            // The write may have ended between the two looks; then nobody would wake us.
            if now >= shared.least_limit.load(Ordering::SeqCst) {
                published.await;
            }
        }
        if *shared.ended.borrow()
            && matches!(shared.queue.lock().refusal, Some(EngineError::Closed))
        {
            return Err(EngineError::Closed);
        }
        let view = Arc::clone(&shared.current.read());
        let now = now.max(view.mark().now);
        Ok((view, now))
    }

    #[cfg(test)]
    pub async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        self.commit_then(batch, Box::new(|_| ())).await
    }

    /// Once this is polled the batch is on its way, whether or not anybody waits for the answer.
    pub async fn commit_then(&self, batch: Batch, then: Then) -> Result<Committed, CommitError> {
        let bytes = batch.validate(&self.shared.backend.caps())?;
        let further = batch.further_stamps();
        let (answer, answered) = oneshot::channel();
        let enough = {
            let mut queue = self.shared.queue.lock();
            if let Some(refusal) = &queue.refusal {
                return Err(CommitError::Failed(refusal.clone()));
            }
            if let Some(no_space) = queue.room.missing().filter(|_| batch.grows()) {
                return Err(CommitError::Failed(no_space.clone()));
            }
            if queue.waiting.len() >= QUEUE_BATCHES_MAX {
                return Err(CommitError::Retryable(format!(
                    "{QUEUE_BATCHES_MAX} commits wait already"
                )));
            }
            queue.waiting.push_back(Request {
                batch,
                bytes,
                further,
                then,
                answer,
            });
            queue.waiting.len() >= queue.wanted
        };
        if enough {
            self.shared.wake.notify_one();
        }
        // The thread ended without an answer: by a panic, which may have been anywhere.
        match answered.await {
            Ok(answer) => answer.result.clone(),
            Err(_) => Err(CommitError::Unknown(EngineError::Closed)),
        }
    }

    /// Why commits fail at present, or those that add something, if they do.
    pub fn halted(&self) -> Option<EngineError> {
        let failed = {
            let queue = self.shared.queue.lock();
            let refusal = queue.refusal.as_ref();
            refusal
                .filter(|refusal| **refusal != EngineError::Closed)
                .or(queue.room.missing())
                .cloned()
        };
        failed.or_else(|| self.shared.backend.out_of_room())
    }

    /// Whether no write is left of which only the next start tells whether it happened: after an error that passes, a write has
    /// succeeded, before which the engine beneath has given up what failed.
    pub fn outcomes_are_known(&self) -> bool {
        let queue = self.shared.queue.lock();
        queue.refusal.is_none() && queue.room.missing().is_none()
    }

    /// A commit of one range delete, for engines whose `drop_range` is not more than that.
    pub async fn drop_range(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> Result<(), EngineError> {
        let mut batch = Batch::new();
        batch.delete_range(space, from, to);
        match self.commit_then(batch, Box::new(|_| ())).await {
            Ok(_) => Ok(()),
            Err(CommitError::Failed(error) | CommitError::Unknown(error)) => Err(error),
            Err(CommitError::Retryable(text)) => Err(EngineError::Io(text)),
            Err(error @ (CommitError::Conflict | CommitError::TooLate)) => Err(
                EngineError::Invalid(format!("a batch without conditions: {error}")),
            ),
        }
    }

    /// Refuses new batches, and waits until those that were taken are written.
    pub async fn close(&self) {
        self.refuse();
        // The sender lives in `shared`, so waiting cannot fail.
        let _ = self.shared.ended.subscribe().wait_for(|ended| *ended).await;
    }

    fn refuse(&self) {
        self.shared
            .queue
            .lock()
            .refusal
            .get_or_insert(EngineError::Closed);
        self.shared.wake.notify_one();
    }
}

impl<B: Backend> Drop for Sequencer<B> {
    fn drop(&mut self) {
        self.refuse();
        if let Some(thread) = self.thread.lock().take() {
            // A panic in there was already reported by its hook; those who wait were answered.
            let _ = thread.join();
        }
    }
}

impl<B: Backend> Shared<B> {
    fn run(&self) {
        let _end = End(self);
        let mut last = 0;
        while let Some(requests) = self.next_group(last) {
            last = requests.len();
            self.commit_group(requests);
        }
    }

    /// Sleeps until something waits; `None` when the engine is closed and all is done. Without room, a group of nobody comes once in
    /// a while: its write finds out whether there is room again.
    fn next_group(&self, last: usize) -> Option<Vec<Request>> {
        let mut queue = self.queue.lock();
        while queue.waiting.is_empty() {
            if queue.refusal.is_some() {
                return None;
            }
            if queue.room.missing().is_none() {
                self.wake.wait(&mut queue);
            } else if self
                .wake
                .wait_for(&mut queue, room::CHECK_EVERY)
                .timed_out()
                && queue.waiting.is_empty()
                && queue.refusal.is_none()
            {
                return Some(Vec::new());
            }
        }
        if queue.waiting.len() < last && queue.refusal.is_none() && self.backend.caps().durable {
            queue.wanted = last;
            self.wake.wait_for(&mut queue, GATHER_MAX);
            queue.wanted = 1;
        }
        let mut bytes = 0;
        let mut count = 0;
        for request in queue.waiting.iter().take(GROUP_BATCHES_MAX) {
            count += 1;
            bytes += request.bytes;
            if bytes >= GROUP_BYTES_MAX {
                break;
            }
        }
        Some(queue.waiting.drain(..count).collect())
    }

    /// Shows readers the least limit of a group before the time is read; see the head of the file.
    fn announce(&self, requests: &[Request]) {
        let least = requests
            .iter()
            .filter_map(|request| notice(&request.batch))
            .min()
            .unwrap_or(NO_LIMIT);
        self.least_limit.store(least, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    fn commit_group(&self, requests: Vec<Request>) {
        self.announce(&requests);
        let time = Arc::clone(&self.time.read());
        let view = Arc::clone(&self.current.read());
        let mut mark = Mark {
            stamp: view.mark().stamp,
            now: view.mark().now.max(time.now()),
        };

        let probes = requests.is_empty();
        let no_room = self.no_room(&requests);
        let mut group = Group::new(&*view);
        let mut answers: Answers = Vec::with_capacity(requests.len());
        let mut least_admitted = NO_LIMIT;
        for request in requests {
            let Request {
                batch,
                further,
                then,
                answer,
                ..
            } = request;
            let writes = !batch.ops.is_empty();
            let limit = notice(&batch).unwrap_or(NO_LIMIT);
            // A batch of mere checks takes no place in the order.
            let stamp = Stamp(mark.stamp.0 + u64::from(writes));
            let last = Stamp(stamp.0 + further);
            let decided = if last.0 > STAMP_MAX {
                Err(CommitError::Failed(EngineError::TooLarge(
                    "no stamps are left".to_owned(),
                )))
            } else if let Some(no_room) = no_room.as_ref().filter(|_| batch.grows()) {
                Err(CommitError::Failed(no_room.clone()))
            } else {
                group.admit(batch, stamp, mark.now)
            };
            if decided.is_ok() {
                mark.stamp = last;
                least_admitted = least_admitted.min(limit);
            }
            let result = decided.map(|()| Committed {
                stamp,
                now: mark.now,
            });
            let then = Some(then);
            answers.push((answer, Answer { result, then }));
        }
        self.least_limit.store(least_admitted, Ordering::SeqCst);

        if mark.stamp != view.mark().stamp || probes {
            if let Some((key, value)) = time.checkpoint(mark.now) {
                group.put(Space::Meta, key, value);
            }
            match self.backend.write(group.into_changes(), mark) {
                Ok(view) => {
                    *self.current.write() = Arc::new(view);
                    self.queue.lock().room.is_there();
                }
                Err(error) => self.fail(&mut answers, error),
            }
        }
        self.least_limit.store(NO_LIMIT, Ordering::SeqCst);
        self.published.notify_waiters();
        // Refusals too are told only now: a conflict may be with a batch of this very group, and
        // whoever hears of it must be able to see that batch.
        for (waiting, answer) in answers {
            // Whoever asked may have left; the commit stands all the same, and so does what follows it.
            let _ = waiting.send(answer);
        }
    }

    /// Why nothing may be added, if something is to be.
    fn no_room(&self, requests: &[Request]) -> Option<EngineError> {
        if !requests.iter().any(|request| request.batch.grows()) {
            return None;
        }
        self.backend
            .out_of_room()
            .or_else(|| self.queue.lock().room.missing().cloned())
    }

    /// After a failed write nothing is certain about the file: the system may have dropped the
    /// pages it could not write and report success next time. So the write is not retried, and
    /// no other follows; reading goes on.
    ///
    /// Errors that pass, such as a full disk, are the exception: the engine beneath has given up the file of the failed write, and takes
    /// no other until all that was committed before is safe in new files.
    fn fail(&self, answers: &mut Answers, error: EngineError) {
        let until = "writing has stopped until a restart";
        let stopped = match error {
            EngineError::Io(text) => EngineError::Io(format!("{until}: {text}")),
            EngineError::Corrupt(text) => EngineError::Corrupt(format!("{until}: {text}")),
            other @ (EngineError::NoSpace(_)
            | EngineError::NoFiles(_)
            | EngineError::TooLarge(_)
            | EngineError::Invalid(_)
            | EngineError::Closed) => other,
        };
        let is_known = matches!(
            stopped,
            EngineError::TooLarge(_) | EngineError::Invalid(_) | EngineError::Closed
        );
        for (_, answer) in answers.iter_mut() {
            // What was refused before the write is not in it. What was admitted may be on disk, or come there later.
            answer.result = Err(if answer.result.is_ok() && !is_known {
                CommitError::Unknown(stopped.clone())
            } else {
                CommitError::Failed(stopped.clone())
            });
        }
        let mut queue = self.queue.lock();
        if stopped.passes() {
            queue.room.is_missing(stopped);
            return;
        }
        tracing::error!(error = %stopped, "the store takes no more writes");
        queue.refusal = Some(stopped.clone());
        for request in queue.waiting.drain(..) {
            let _ = request.answer.send(Answer {
                result: Err(CommitError::Failed(stopped.clone())),
                then: None,
            });
        }
    }
}

/// From which time on readers wait for a batch.
fn notice(batch: &Batch) -> Option<Millis> {
    if batch.holds_readers {
        Some(0)
    } else {
        batch.not_after
    }
}

/// Leaves nobody waiting when the thread ends, even by a panic.
struct End<'a, B: Backend>(&'a Shared<B>);

impl<B: Backend> Drop for End<'_, B> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.refusal.get_or_insert(EngineError::Closed);
        queue.waiting.clear();
        drop(queue);
        self.0.least_limit.store(NO_LIMIT, Ordering::SeqCst);
        self.0.published.notify_waiters();
        self.0.ended.send_replace(true);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
