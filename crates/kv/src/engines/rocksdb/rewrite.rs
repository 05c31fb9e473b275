//! Rewrites tables on request, a stretch at a time, each on a thread of its own: most of it waits for RocksDB's threads.

use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
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
}

#[derive(Default)]
struct State {
    /// Those that run, and some that have ended.
    threads: Vec<JoinHandle<()>>,
    stopped: bool,
}

impl Rewriter {
    pub fn new(database: &Arc<Database>) -> Rewriter {
        Rewriter {
            shared: Arc::new(Shared {
                database: Arc::clone(database),
                state: Mutex::default(),
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
        let (from, to) = (from.to_vec(), to.to_vec());
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.shared.state.lock();
            if state.stopped {
                return Err(EngineError::Closed);
            }
            state.threads.retain(|thread| !thread.is_finished());
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new()
                .name("rewrite".to_owned())
                .spawn(move || {
                    let next = shared.stretch(space, &from, &to);
                    // Whoever asked may have left; the tables are rewritten all the same.
                    let _ = answer.send(next);
                })
                .map_err(|error| EngineError::Io(format!("no thread: {error}")))?;
            state.threads.push(thread);
        }
        answered.await.unwrap_or(Err(EngineError::Closed))
    }

    /// Ends what is running; what is left undone is done by later compactions. No thread of this is left afterwards: one that only
    /// has yet to let go of the database would close it, and while it did so the process could end and take RocksDB's own
    /// state from under it.
    pub fn stop(&self) {
        let threads = {
            let mut state = self.shared.state.lock();
            state.stopped = true;
            std::mem::take(&mut state.threads)
        };
        if threads.iter().any(|thread| !thread.is_finished()) {
            self.shared.database.db.cancel_all_background_work(false);
        }
        for thread in threads {
            // A panic in there was already reported by its hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Rewriter {
    fn drop(&mut self) {
        self.stop();
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;
    use crate::judge::mercy;

    /// A thread that still holds the database when `stop` returns may be the one that closes it, beside the end of the process.
    #[test]
    fn nothing_holds_the_database_once_it_is_stopped() {
        const ROUNDS: usize = 200;
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path(), true, &mercy()).unwrap();
        for round in 0..ROUNDS {
            let rewriter = Rewriter::new(&database);
            {
                let mut begun = pin!(rewriter.run(Space::Items, b"a", b"b"));
                // Begun, and nobody waits for it.
                let _ = begun.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            }
            rewriter.stop();
            assert_eq!(Arc::strong_count(&rewriter.shared), 1, "round {round}");
        }
    }
}
