//! Configuration to engine, and the one type that holds whichever it is.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use crate::Batch;
use crate::engine::{
    Caps, CommitError, Committed, Engine, EngineError, Millis, Page, Scan, Snapshot, Space, Stamp,
    Standstill, Then, Time,
};
use crate::engines::memory::{Memory, MemorySnapshot};
#[cfg(feature = "rocksdb")]
use crate::engines::rocksdb::{Pinned, Rocksdb, RocksdbSnapshot};
use crate::judge::{Judge, mercy};

/// Which engine, and where.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum EngineKind {
    /// Nothing survives the process.
    Memory,
    /// Durable, on a local disk.
    Rocksdb {
        /// The folder; made if it does not exist.
        path: PathBuf,
        /// Answers before the disk has the commit: a loss of power may take the last ones.
        relaxed: bool,
    },
}

/// How to open an engine.
#[derive(Clone)]
pub struct OpenOptions {
    /// Which engine.
    pub kind: EngineKind,
    /// Its time; see also [`AnyEngine::set_time`].
    pub time: Arc<dyn Time>,
    /// Who says what may be dropped, where the engine asks.
    pub judge: Arc<dyn Judge>,
}

impl OpenOptions {
    /// Opens with a time that stands still until [`AnyEngine::set_time`], and a judge that spares everything.
    pub fn new(kind: EngineKind) -> OpenOptions {
        OpenOptions {
            kind,
            time: Arc::new(Standstill),
            judge: mercy(),
        }
    }
}

/// Why an engine does not open.
#[derive(Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the store at {path} is in use by process {}", pid.map_or("(unknown)".to_owned(), |pid| pid.to_string()))]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The other process, if it left its number.
        pid: Option<u32>,
    },
    /// This program was built without the engine.
    #[error("this program was built without the engine {0}")]
    NotBuilt(&'static str),
    /// The engine failed.
    #[error(transparent)]
    Failed(#[from] EngineError),
}

/// Opens an engine.
pub fn open(options: OpenOptions) -> Result<AnyEngine, OpenError> {
    match options.kind {
        EngineKind::Memory => Ok(AnyEngine::Memory(Memory::open(options.time)?)),
        #[cfg(feature = "rocksdb")]
        EngineKind::Rocksdb { path, relaxed } => Ok(AnyEngine::Rocksdb(Rocksdb::open(
            &path,
            relaxed,
            options.time,
            options.judge,
        )?)),
        #[cfg(not(feature = "rocksdb"))]
        EngineKind::Rocksdb { .. } => Err(OpenError::NotBuilt("rocksdb")),
    }
}

/// Whichever engine was configured. A `match` instead of a trait object: what lies above is
/// compiled once, and calls into the engine stay direct.
pub enum AnyEngine {
    /// See [`Memory`].
    Memory(Memory),
    /// See [`Rocksdb`].
    #[cfg(feature = "rocksdb")]
    Rocksdb(Rocksdb),
}

/// A snapshot of an [`AnyEngine`].
#[derive(Clone)]
pub enum AnySnapshot {
    /// Of [`Memory`].
    Memory(MemorySnapshot),
    /// Of [`Rocksdb`].
    #[cfg(feature = "rocksdb")]
    Rocksdb(RocksdbSnapshot),
}

/// A value of an [`AnySnapshot`].
pub enum AnySlice {
    /// Shared bytes.
    Bytes(Bytes),
    /// A block of RocksDB, held in place.
    #[cfg(feature = "rocksdb")]
    Pinned(Pinned),
}

/// Runs one expression for whichever engine is inside.
macro_rules! each {
    ($any:ident in $value:expr, $inner:ident => $body:expr) => {
        match $value {
            $any::Memory($inner) => $body,
            #[cfg(feature = "rocksdb")]
            $any::Rocksdb($inner) => $body,
        }
    };
}

impl AnyEngine {
    /// Replaces the time. Meant for once, right after opening, before the first commit.
    pub fn set_time(&self, time: Arc<dyn Time>) {
        each!(AnyEngine in self, engine => engine.set_time(time));
    }
}

impl Engine for AnyEngine {
    type Snapshot = AnySnapshot;

    async fn snapshot(&self) -> Result<AnySnapshot, EngineError> {
        match self {
            AnyEngine::Memory(engine) => engine.snapshot().await.map(AnySnapshot::Memory),
            #[cfg(feature = "rocksdb")]
            AnyEngine::Rocksdb(engine) => engine.snapshot().await.map(AnySnapshot::Rocksdb),
        }
    }

    async fn commit_then(&self, batch: Batch, then: Then) -> Result<Committed, CommitError> {
        each!(AnyEngine in self, engine => engine.commit_then(batch, then).await)
    }

    async fn drop_range(&self, space: Space, from: &[u8], to: &[u8]) -> Result<(), EngineError> {
        each!(AnyEngine in self, engine => engine.drop_range(space, from, to).await)
    }

    async fn sync(&self) -> Result<(), EngineError> {
        each!(AnyEngine in self, engine => engine.sync().await)
    }

    async fn rewrite(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> Result<Option<Vec<u8>>, EngineError> {
        each!(AnyEngine in self, engine => engine.rewrite(space, from, to).await)
    }

    fn caps(&self) -> Caps {
        each!(AnyEngine in self, engine => engine.caps())
    }

    async fn close(&self) -> Result<(), EngineError> {
        each!(AnyEngine in self, engine => engine.close().await)
    }

    fn halted(&self) -> Option<EngineError> {
        each!(AnyEngine in self, engine => engine.halted())
    }

    fn outcomes_are_known(&self) -> bool {
        each!(AnyEngine in self, engine => engine.outcomes_are_known())
    }

    fn damage(&self) -> Vec<String> {
        each!(AnyEngine in self, engine => engine.damage())
    }

    fn disk_bytes(&self) -> u64 {
        each!(AnyEngine in self, engine => engine.disk_bytes())
    }

    fn disk_room(&self) -> Option<(u64, u64)> {
        each!(AnyEngine in self, engine => engine.disk_room())
    }
}

impl Snapshot for AnySnapshot {
    type Slice = AnySlice;

    fn now(&self) -> Millis {
        each!(AnySnapshot in self, snapshot => snapshot.now())
    }

    fn stamp(&self) -> Stamp {
        each!(AnySnapshot in self, snapshot => snapshot.stamp())
    }

    async fn get(&self, space: Space, key: &[u8]) -> Result<Option<AnySlice>, EngineError> {
        each!(AnySnapshot in self, snapshot => Ok(snapshot.get(space, key).await?.map(AnySlice::from)))
    }

    async fn multi_get(
        &self,
        space: Space,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<AnySlice>>, EngineError> {
        each!(AnySnapshot in self, snapshot => {
            let found = snapshot.multi_get(space, keys).await?;
            Ok(found.into_iter().map(|value| value.map(AnySlice::from)).collect())
        })
    }

    async fn scan(&self, scan: Scan) -> Result<Page, EngineError> {
        each!(AnySnapshot in self, snapshot => snapshot.scan(scan).await)
    }

    async fn visit(
        &self,
        scan: Scan,
        see: impl FnMut(&[u8], &[u8]) + Send,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        each!(AnySnapshot in self, snapshot => snapshot.visit(scan, see).await)
    }
}

impl AsRef<[u8]> for AnySlice {
    fn as_ref(&self) -> &[u8] {
        match self {
            AnySlice::Bytes(bytes) => bytes,
            #[cfg(feature = "rocksdb")]
            AnySlice::Pinned(pinned) => pinned.as_ref(),
        }
    }
}

impl From<Bytes> for AnySlice {
    fn from(bytes: Bytes) -> AnySlice {
        AnySlice::Bytes(bytes)
    }
}

#[cfg(feature = "rocksdb")]
impl From<Pinned> for AnySlice {
    fn from(pinned: Pinned) -> AnySlice {
        AnySlice::Pinned(pinned)
    }
}

impl From<AnySlice> for Bytes {
    fn from(slice: AnySlice) -> Bytes {
        match slice {
            AnySlice::Bytes(bytes) => bytes,
            #[cfg(feature = "rocksdb")]
            AnySlice::Pinned(pinned) => pinned.into(),
        }
    }
}
