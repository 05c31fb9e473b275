//! What an engine is: ordered bytes, snapshots of them, and one-shot conditional batches.

use std::future::Future;

use bytes::Bytes;

use crate::batch::Batch;

/// Kinds of data; a column family each in RocksDB.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Ord, PartialOrd, Debug)]
#[repr(u8)]
pub enum Space {
    /// Catalog, settings, the clock's floor.
    Meta,
    /// Records.
    Items,
    /// The change log, which is also the expiry queue.
    Log,
    /// Full change events, kept for their retention.
    Versions,
    /// What expires by its own ttl or date, by expiry.
    Due,
    /// Index entries.
    Index,
    /// Unique keys and who holds them.
    Unique,
    /// Creation order.
    Order,
    /// Sums kept by [`Op::Add`](crate::Op::Add).
    Tally,
}

impl Space {
    /// Every space, in the order of its number.
    pub const ALL: [Space; 9] = [
        Space::Meta,
        Space::Items,
        Space::Log,
        Space::Versions,
        Space::Due,
        Space::Index,
        Space::Unique,
        Space::Order,
        Space::Tally,
    ];

    /// The name on disk; it never changes.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Meta => "meta",
            Space::Items => "items",
            Space::Log => "log",
            Space::Versions => "versions",
            Space::Due => "due",
            Space::Index => "index",
            Space::Unique => "unique",
            Space::Order => "order",
            Space::Tally => "tally",
        }
    }
}

/// Milliseconds since 1970.
pub type Millis = u64;

/// Engine time, injected from above: this crate knows no clock of its own.
/// `now` must never step back; engines rely on it (see `sequencer.rs`).
pub trait Time: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Millis;
    /// What to put into [`Space::Meta`] with every commit, so that the clock's floor survives.
    fn checkpoint(&self, now: Millis) -> Option<(Vec<u8>, Vec<u8>)>;
}

/// A time that stands at zero: for the moment between opening an engine and reading from it
/// what the real clock needs to start.
#[derive(Debug, Default, Clone, Copy)]
pub struct Standstill;

impl Time for Standstill {
    fn now(&self) -> Millis {
        0
    }
    fn checkpoint(&self, _now: Millis) -> Option<(Vec<u8>, Vec<u8>)> {
        None
    }
}

/// The place of a commit in the order of all commits. Zero: before the first.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Ord, PartialOrd, Debug, Default)]
pub struct Stamp(pub u64);

/// What a commit returns.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Committed {
    /// Its place in the order.
    pub stamp: Stamp,
    /// The engine time its fills used.
    pub now: Millis,
}

/// What an engine can take.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Caps {
    /// The engine's name, as configuration spells it.
    pub name: &'static str,
    /// The longest key, in bytes.
    pub key_bytes_max: usize,
    /// The longest value, in bytes.
    pub value_bytes_max: usize,
    /// The most bytes of keys and values in one batch.
    pub batch_bytes_max: usize,
    /// Whether an acknowledged commit survives the loss of power.
    pub durable: bool,
    /// Whether it drops by itself what a [`Judge`](crate::Judge) condemns.
    pub judged: bool,
}

/// Why an engine cannot answer.
#[derive(Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum EngineError {
    /// Stored bytes are not what was written.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The disk or the operating system refused.
    #[error("the disk failed: {0}")]
    Io(String),
    /// The disk is full or the quota used up, or so nearly that the rest is kept for removing data. There may be room again later.
    #[error("the disk is full: {0}")]
    NoSpace(String),
    /// The process or the system has no file descriptor left. There may be some again later.
    #[error("no more files can be opened: {0}")]
    NoFiles(String),
    /// A key, value or batch exceeds [`Caps`].
    #[error("too large for the engine: {0}")]
    TooLarge(String),
    /// The caller broke the contract of a type of this crate.
    #[error("not a valid batch: {0}")]
    Invalid(String),
    /// The engine was closed.
    #[error("the engine is closed")]
    Closed,
}

impl EngineError {
    /// Whether it may pass without a restart.
    #[must_use]
    pub const fn passes(&self) -> bool {
        match self {
            EngineError::NoSpace(_) | EngineError::NoFiles(_) => true,
            EngineError::Corrupt(_)
            | EngineError::Io(_)
            | EngineError::TooLarge(_)
            | EngineError::Invalid(_)
            | EngineError::Closed => false,
        }
    }
}

/// Why a commit did not happen, or is not known to have happened.
#[derive(Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum CommitError {
    /// A check failed; nothing was written.
    #[error("a check of the batch failed")]
    Conflict,
    /// The time of commit had reached `not_after`; nothing was written.
    #[error("the batch came too late")]
    TooLate,
    /// It was being written when the engine failed: a later start finds all of it or nothing. No reader of this run sees it. Once
    /// [`Engine::outcomes_are_known`] it was not committed.
    #[error("it is not known whether the batch was committed: {0}")]
    Unknown(EngineError),
    /// Nothing was written; the same batch may succeed if it is sent again.
    #[error("try again: {0}")]
    Retryable(String),
    /// The engine failed before it; nothing was written.
    #[error(transparent)]
    Failed(#[from] EngineError),
}

/// What follows a commit. It is called on any thread, the one that orders commits among them: it must be short and must not wait.
pub type Then = Box<dyn FnOnce(Committed) + Send>;

/// An ordered store of bytes.
pub trait Engine: Send + Sync + 'static {
    /// Its snapshots.
    type Snapshot: Snapshot;
    /// Everything committed so far, at one moment.
    fn snapshot(&self) -> impl Future<Output = Result<Self::Snapshot, EngineError>> + Send;
    /// Commits all of the batch or nothing. Dropping the future does not take the batch back.
    fn commit(&self, batch: Batch) -> impl Future<Output = Result<Committed, CommitError>> + Send {
        // A box of nothing: it takes no memory.
        self.commit_then(batch, Box::new(|_| ()))
    }
    /// The same, and if it is committed, `then` is called once readers can see it: before the answer where somebody waits for
    /// that, and also where the future was dropped.
    fn commit_then(
        &self,
        batch: Batch,
        then: Then,
    ) -> impl Future<Output = Result<Committed, CommitError>> + Send;
    /// Removes the keys of `[from, to)`, then gives their disk space back in its own time.
    fn drop_range(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> impl Future<Output = Result<(), EngineError>> + Send;
    /// Makes durable all that was acknowledged so far, where acknowledging alone does not.
    fn sync(&self) -> impl Future<Output = Result<(), EngineError>> + Send;
    /// Rewrites a stretch at the beginning of `[from, to)`, leaving out what the judge condemns and what was removed, and
    /// gives its disk space back. Says where the next stretch begins; none once the range is done. Engines without a
    /// judge do nothing. It takes a while, and nobody waits for it meanwhile.
    fn rewrite(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> impl Future<Output = Result<Option<Vec<u8>>, EngineError>> + Send;
    /// What it can take.
    fn caps(&self) -> Caps;
    /// Commits what is waiting, then refuses new work. Snapshots already taken stay readable.
    fn close(&self) -> impl Future<Output = Result<(), EngineError>> + Send;
    /// Why commits fail at present, or those that add something, if they do. Where the error [passes](EngineError::passes), they come
    /// back by themselves.
    fn halted(&self) -> Option<EngineError>;
    /// Whether no commit is left of which only a later start tells whether it happened: those that ended as
    /// [`CommitError::Unknown`] until now did not.
    fn outcomes_are_known(&self) -> bool;
    /// Stored data that was found to be damaged while the engine worked in the background, each with a text. It goes on without.
    fn damage(&self) -> Vec<String> {
        Vec::new()
    }
    /// Bytes on disk.
    fn disk_bytes(&self) -> u64;
    /// Bytes that are free where the data lives, and bytes that there are; none if that means nothing or is not known.
    fn disk_room(&self) -> Option<(u64, u64)>;
}

/// A consistent view: it never changes, and never shows half a batch.
pub trait Snapshot: Clone + Send + Sync + 'static {
    /// A value, in the engine's own memory where that is possible.
    type Slice: AsRef<[u8]> + Into<Bytes> + Send + 'static;
    /// The engine time of this view: not before that of any commit visible in it.
    fn now(&self) -> Millis;
    /// The stamp of the newest commit visible here.
    fn stamp(&self) -> Stamp;
    /// The value of a key.
    fn get(
        &self,
        space: Space,
        key: &[u8],
    ) -> impl Future<Output = Result<Option<Self::Slice>, EngineError>> + Send;
    /// The values of many keys, in the order of the keys.
    fn multi_get(
        &self,
        space: Space,
        keys: &[Vec<u8>],
    ) -> impl Future<Output = Result<Vec<Option<Self::Slice>>, EngineError>> + Send;
    /// One page of a range.
    fn scan(&self, scan: Scan) -> impl Future<Output = Result<Page, EngineError>> + Send;
    /// Shows the rows of one page where they lie, so that nothing is copied of those that are passed over. Says with which
    /// key the next page begins; none at the end of the range. Only upwards: the range is read from its beginning.
    fn visit(
        &self,
        scan: Scan,
        see: impl FnMut(&[u8], &[u8]) + Send,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, EngineError>> + Send;
}

/// A range to read, and how much of it at once.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Scan {
    /// Where.
    pub space: Space,
    /// The first key, inclusive.
    pub from: Vec<u8>,
    /// The end, exclusive; empty means the end of the space.
    pub to: Vec<u8>,
    /// Whether the greatest keys come first.
    pub reverse: bool,
    /// The most rows of a page; zero counts as one.
    pub rows_max: usize,
    /// A page ends with the row that reaches so many bytes of keys and values.
    pub bytes_max: usize,
}

impl Scan {
    /// All keys that begin with `prefix`, upwards, without a limit.
    pub fn prefix(space: Space, prefix: &[u8]) -> Scan {
        Scan {
            space,
            from: prefix.to_vec(),
            to: prefix_end(prefix),
            reverse: false,
            rows_max: usize::MAX,
            bytes_max: usize::MAX,
        }
    }

    /// Moves the range behind a page's last key, so that the next page begins there.
    pub fn resume_after(&mut self, last_key: &[u8]) {
        if self.reverse {
            self.to = last_key.to_vec();
        } else {
            self.from = [last_key, &[0]].concat();
        }
    }
}

/// Rows in the order of the scan.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Page {
    /// Keys and values.
    pub rows: Vec<(Bytes, Bytes)>,
    /// Whether the range holds rows beyond these.
    pub more: bool,
}

/// The least key greater than every key with this prefix; empty if there is none.
pub fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    end
}
