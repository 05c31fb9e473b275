//! Opens a store: engine, identity, clock, and what an earlier process has left half done.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub use lapsedb_kv::Verified;
use lapsedb_kv::{AnyEngine, Batch, Engine, EngineKind, Snapshot, Space, Template, Time};
use lapsedb_record::clock::WallOptions;
use lapsedb_record::{Clock, Millis};
use parking_lot::Mutex;

use crate::Store;
use crate::catalog::cache::CatalogCache;
use crate::error::StoreError;
use crate::index::named::build::Builders;
use crate::keys;
use crate::settled::Marks;
use crate::views::Views;

/// The layout this version writes.
const STORE_FORMAT: u8 = 2;
/// The layout before integers beyond 2^53 had keys of their own. It is read as it is; a version that knows no other must not
/// write into a store that has such keys.
const STORE_FORMAT_DOUBLES: u8 = 1;

/// Where a store lives.
#[derive(Clone, Debug)]
pub enum Place {
    /// In memory: gone with the process.
    Memory,
    /// In a folder.
    Disk(PathBuf),
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Where it lives.
    pub place: Place,
    /// Acknowledge before fsync.
    pub relaxed: bool,
    /// Time stands still until it is moved. Recorded in the store.
    pub virtual_clock: bool,
    /// Start although the clock is far from the store's last time.
    pub accept_clock: bool,
}

/// Why a store does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("{0}")]
    InUse(String),
    /// The clock and the store do not fit together.
    #[error("{0}")]
    Clock(String),
    /// The store was written by a version this one does not know.
    #[error("this store has the format {0}; this version reads formats up to {STORE_FORMAT}")]
    Format(u8),
    /// The engine or its data failed.
    #[error("{0}")]
    Failed(String),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> OpenError {
        OpenError::Failed(error.to_string())
    }
}

/// Reads the store in a folder from its first to its last byte, without opening it for requests. With `drop_damaged_log`, a
/// write-ahead log that is damaged is cut off before the damage where that leaves a consistent store.
///
/// # Errors
/// When another process has it, there is none, or it cannot be read at all.
pub fn verify(path: &Path, drop_damaged_log: bool) -> Result<Verified, OpenError> {
    lapsedb_kv::verify(path, drop_damaged_log).map_err(open_error)
}

fn open_error(error: lapsedb_kv::OpenError) -> OpenError {
    match error {
        lapsedb_kv::OpenError::InUse { .. } => OpenError::InUse(error.to_string()),
        lapsedb_kv::OpenError::NotBuilt(_) | lapsedb_kv::OpenError::Failed(_) => {
            OpenError::Failed(error.to_string())
        }
    }
}

/// The clock as the engine wants it.
struct EngineTime(Arc<Clock>);

impl Time for EngineTime {
    fn now(&self) -> u64 {
        self.0.now().0
    }

    fn checkpoint(&self, now: u64) -> Option<(Vec<u8>, Vec<u8>)> {
        Some((keys::CLOCK.to_vec(), self.0.checkpoint(Millis(now))))
    }
}

impl Store {
    /// Opens a store, or creates it.
    ///
    /// # Errors
    /// When another process has it, the clock does not fit, or the engine fails.
    pub async fn open(options: OpenOptions) -> Result<Store, OpenError> {
        let kind = match &options.place {
            Place::Memory => EngineKind::Memory,
            Place::Disk(path) => EngineKind::Rocksdb {
                path: path.clone(),
                relaxed: options.relaxed,
            },
        };
        let marks = Arc::new(Marks::default());
        let engine_options = lapsedb_kv::OpenOptions {
            judge: Arc::clone(&marks) as _,
            ..lapsedb_kv::OpenOptions::new(kind)
        };
        let engine = lapsedb_kv::open(engine_options).map_err(open_error)?;
        let clock = Arc::new(start_clock(&engine, &options).await?);
        engine.set_time(Arc::new(EngineTime(Arc::clone(&clock))));
        let store = Store {
            engine,
            clock,
            catalog: CatalogCache::default(),
            listeners: Arc::default(),
            recent: Arc::default(),
            marks,
            views: Views::default(),
            sweeping: Mutex::default(),
            filters: OnceLock::new(),
            builders: Builders::default(),
            claims: crate::Claims::default(),
            moving_clock: tokio::sync::Mutex::default(),
        };
        store.identify().await?;
        store.remember_settled().await?;
        let snapshot = store.engine.snapshot().await.map_err(StoreError::from)?;
        let now = store.clock.now().secs();
        store.recent.begin(snapshot.stamp().0, now);
        Ok(store)
    }

    /// Writes what kind of store this is on the first start, and checks it on later ones.
    async fn identify(&self) -> Result<(), OpenError> {
        let snapshot = self.engine.snapshot().await.map_err(StoreError::from)?;
        match snapshot
            .get(Space::Meta, keys::IDENTITY)
            .await
            .map_err(StoreError::from)?
        {
            Some(identity) => match identity.as_ref().first() {
                Some(&STORE_FORMAT) => Ok(()),
                Some(&STORE_FORMAT_DOUBLES) => self.write_identity().await,
                other => Err(OpenError::Format(other.copied().unwrap_or(0))),
            },
            None => self.write_identity().await,
        }
    }

    async fn write_identity(&self) -> Result<(), OpenError> {
        let mut batch = Batch::new();
        batch.put(
            Space::Meta,
            Template::from(keys::IDENTITY),
            Template::from(vec![STORE_FORMAT]),
        );
        self.engine.commit(batch).await.map_err(StoreError::from)?;
        Ok(())
    }

    /// Shows the engine's judge what was settled before this start; until then it spares everything.
    async fn remember_settled(&self) -> Result<(), OpenError> {
        let snapshot = self.engine.snapshot().await.map_err(StoreError::from)?;
        Ok(self.marks.load(&snapshot).await?)
    }
}

async fn start_clock(engine: &AnyEngine, options: &OpenOptions) -> Result<Clock, OpenError> {
    let snapshot = engine.snapshot().await.map_err(StoreError::from)?;
    let saved = snapshot
        .get(Space::Meta, keys::CLOCK)
        .await
        .map_err(StoreError::from)?;
    let saved = saved.as_ref().map(AsRef::as_ref);
    let clock = if options.virtual_clock {
        Clock::virtual_clock(saved)
    } else {
        Clock::wall(
            saved,
            &WallOptions {
                accept: options.accept_clock,
                ..WallOptions::default()
            },
        )
    };
    clock.map_err(|refused| OpenError::Clock(refused.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    async fn opened(folder: &std::path::Path) -> Result<Store, OpenError> {
        Store::open(OpenOptions {
            place: Place::Disk(folder.to_owned()),
            relaxed: true,
            virtual_clock: true,
            accept_clock: false,
        })
        .await
    }

    async fn identity(store: &Store) -> Vec<u8> {
        let snapshot = store.engine.snapshot().await.unwrap();
        let identity = snapshot.get(Space::Meta, keys::IDENTITY).await.unwrap();
        identity.unwrap().as_ref().to_vec()
    }

    async fn set_identity(store: &Store, format: u8) {
        let mut batch = Batch::new();
        let value = Template::from(vec![format]);
        batch.put(Space::Meta, Template::from(keys::IDENTITY), value);
        store.engine.commit(batch).await.unwrap();
    }

    #[tokio::test]
    async fn an_older_format_is_taken_over_and_a_newer_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = opened(folder.path()).await.unwrap();
        assert_eq!(identity(&store).await, [STORE_FORMAT]);
        set_identity(&store, STORE_FORMAT_DOUBLES).await;
        store.close().await.unwrap();
        drop(store);
        let store = opened(folder.path()).await.unwrap();
        assert_eq!(identity(&store).await, [STORE_FORMAT]);
        set_identity(&store, STORE_FORMAT + 1).await;
        store.close().await.unwrap();
        drop(store);
        let refused = opened(folder.path()).await;
        assert!(matches!(refused, Err(OpenError::Format(format)) if format == STORE_FORMAT + 1));
    }
}
