//! Rewrites tables on request, a stretch at a time, each on a thread of its own: most of it waits for RocksDB's threads.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use rocksdb::{BottommostLevelCompaction, CompactOptions};
use tokio::sync::oneshot;

use super::database::{Database, engine_error};
use crate::engine::{EngineError, Space};

/// A stretch ends with the table that reaches so many bytes.
const STRETCH_BYTES: usize = 32 * 1024 * 1024;

pub(super) struct Rewriter {
    shared: Arc<Shared>,
}

struct Shared {
    database: Arc<Database>,
    state: Mutex<State>,
    idle: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    stopped: bool,
}

impl Rewriter {
    pub fn new(database: &Arc<Database>) -> Rewriter {
        Rewriter {
            shared: Arc::new(Shared {
                database: Arc::clone(database),
                state: Mutex::default(),
                idle: Condvar::new(),
            }),
        }
    }

    /// See [`Engine::rewrite`](crate::Engine::rewrite).
    pub async fn run(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> Result<Option<Vec<u8>>, EngineError> {
        if !to.is_empty() && from >= to {
            return Ok(None);
        }
        {
            let mut state = self.shared.state.lock();
            if state.stopped {
                return Err(EngineError::Closed);
            }
            state.running += 1;
        }
        let turn = Turn(Arc::clone(&self.shared));
        let (from, to) = (from.to_vec(), to.to_vec());
        let (answer, answered) = oneshot::channel();
        std::thread::Builder::new()
            .name("rewrite".to_owned())
            .spawn(move || {
                let next = turn.0.stretch(space, &from, &to);
                drop(turn);
                // Whoever asked may have left; the tables are rewritten all the same.
                let _ = answer.send(next);
            })
            .map_err(|error| EngineError::Io(format!("no thread: {error}")))?;
        answered.await.unwrap_or(Err(EngineError::Closed))
    }

    /// Ends what is running; what is left undone is done by later compactions.
    pub fn stop(&self) {
        let mut state = self.shared.state.lock();
        state.stopped = true;
        if state.running > 0 {
            self.shared.database.db.cancel_all_background_work(false);
        }
        while state.running > 0 {
            self.shared.idle.wait(&mut state);
        }
    }
}

impl Drop for Rewriter {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Counts as running while it lives.
struct Turn(Arc<Shared>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.state.lock().running -= 1;
        self.0.idle.notify_all();
    }
}

impl Shared {
    fn stretch(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let end = self.stretch_end(space, from, to)?;
        let mut options = CompactOptions::default();
        // Ordinary compactions go on beside it, or writers would have to wait for it.
        options.set_exclusive_manual_compaction(false);
        // The oldest tables too, because they are the ones with the dead; but nothing twice.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        let last = end.as_deref().unwrap_or(to);
        self.database.db.compact_range_cf_opt(
            self.database.space(space),
            Some(from),
            (!last.is_empty()).then_some(last),
            &options,
        );
        if self.state.lock().stopped {
            return Err(EngineError::Closed);
        }
        let Some(mut next) = end else {
            // Nothing of the range is left in memory; the log can go too, once that holds of all spaces.
            self.database.settle()?;
            return Ok(None);
        };
        next.push(0);
        Ok(Some(next))
    }

    /// The last key of the stretch that begins at `from`: where one of the oldest tables ends. None for all up to `to`.
    fn stretch_end(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let mut tables: Vec<_> = self
            .database
            .db
            .live_files()
            .map_err(engine_error)?
            .into_iter()
            .filter(|table| table.column_family_name == space.name())
            .filter_map(|table| Some((table.level, table.end_key?, table.size)))
            .filter(|(_, end, _)| end.as_slice() >= from && (to.is_empty() || end.as_slice() < to))
            .collect();
        let deepest = tables.iter().map(|(level, _, _)| *level).max();
        tables.retain(|(level, _, _)| *level > 0 && Some(*level) == deepest);
        tables.sort();
        let mut bytes = 0;
        for (_, end, size) in tables {
            bytes += size;
            if bytes >= STRETCH_BYTES {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }
}
