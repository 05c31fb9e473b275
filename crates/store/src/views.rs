//! How far back the open views reach.
//!
//! What a view may still need must not be dropped under it, because an engine's judge knows no snapshots. Views are counted
//! by generation: who wants to know how far back they reach begins a new one, and looks which of the older are still held.

use std::sync::Arc;

use arc_swap::ArcSwap;
use lapsedb_kv::{Engine, Snapshot};
use lapsedb_record::Millis;
use parking_lot::Mutex;

use crate::error::Result;

/// The views between two looks. Every one of them has at least this time, and sees at least this commit.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    now: Millis,
    lsn: u64,
}

/// How far back the open views reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// No open view has an earlier time.
    pub(crate) now: Millis,
    /// Every open view sees this commit.
    pub(crate) lsn: u64,
}

/// The generations that are still held.
#[derive(Default)]
pub(crate) struct Views {
    current: ArcSwap<Generation>,
    older: Mutex<Vec<Arc<Generation>>>,
}

impl Views {
    /// Counts a view from now on. To be called before its snapshot is taken: then the snapshot is not older than this.
    pub(crate) fn enter(&self) -> Arc<Generation> {
        self.current.load_full()
    }

    /// Begins a new generation, and says how far back the open views reach.
    pub(crate) async fn reach(&self, engine: &impl Engine) -> Result<Reach> {
        let snapshot = engine.snapshot().await?;
        let fresh = Arc::new(Generation {
            now: Millis(snapshot.now()),
            lsn: snapshot.stamp().0,
        });
        let mut reach = Reach {
            now: fresh.now,
            lsn: fresh.lsn,
        };
        drop(snapshot);
        let mut older = self.older.lock();
        older.push(self.current.swap(fresh));
        // Nobody enters an old generation any more: whoever is in it was counted when it was swapped out.
        older.retain(|generation| Arc::strong_count(generation) > 1);
        for generation in older.iter() {
            reach.now = reach.now.min(generation.now);
            reach.lsn = reach.lsn.min(generation.lsn);
        }
        Ok(reach)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use lapsedb_kv::{Batch, EngineKind, OpenOptions, Space, Template};

    use super::*;

    #[test]
    fn an_open_view_holds_the_reach_until_it_is_dropped() {
        lapsedb_testkit::run(async {
            let engine = lapsedb_kv::open(OpenOptions::new(EngineKind::Memory)).unwrap();
            let views = Views::default();
            let commit = || async {
                let mut batch = Batch::new();
                batch.put(
                    Space::Meta,
                    Template::from(&b"k"[..]),
                    Template::from(&b"v"[..]),
                );
                engine.commit(batch).await.unwrap().stamp.0
            };
            let first = commit().await;
            assert_eq!(views.reach(&engine).await.unwrap().lsn, first);
            let early = views.enter();
            let second = commit().await;
            let late = views.enter();
            assert_eq!(
                views.reach(&engine).await.unwrap().lsn,
                first,
                "both are open"
            );
            drop(early);
            assert_eq!(
                views.reach(&engine).await.unwrap().lsn,
                first,
                "of the same age"
            );
            drop(late);
            assert_eq!(views.reach(&engine).await.unwrap().lsn, second);
        });
    }
}
