//! Finishes what a process that ended, or a client that left, has begun with named indexes.

use std::collections::HashMap;

use lapsedb_store::{Built, CollectionId, Upkeep};

use crate::background::Piece;
use crate::error::Result;
use crate::service::Service;

/// An index that is unfinished for so many ticks, and that nobody builds, has been abandoned.
const ABANDONED_TICKS: u32 = 5;

/// For how many ticks indexes have been unfinished.
pub(crate) type Unfinished = HashMap<(CollectionId, u32), u32>;

impl Service {
    /// Builds indexes whose makers have gone, and removes what dropped ones have left.
    pub(crate) async fn finish_indexes(&self) -> Result<()> {
        let view = self.store().view().await?;
        let mut seen = Unfinished::new();
        let mut abandoned = Vec::new();
        let before = self.maintenance().unfinished.lock().clone();
        for collection in view.catalog().in_need_of(Upkeep::NamedIndexes) {
            for index in collection.indexes.all() {
                if index.is_unfinished() {
                    let key = (collection.cid, index.number);
                    let ticks = before.get(&key).copied().unwrap_or(0) + 1;
                    seen.insert(key, ticks);
                    if ticks >= ABANDONED_TICKS {
                        abandoned.push((key, index.name.clone()));
                    }
                }
            }
            let swept = self.store().sweep_indexes(collection.cid);
            let background = &self.maintenance().background;
            let piece = Piece::RemoveIndexes(collection.cid);
            background.run(piece, swept).await;
        }
        *self.maintenance().unfinished.lock() = seen;
        drop(view);
        for ((cid, number), name) in abandoned {
            let built = self.store().build_named_index(cid, number);
            let background = &self.maintenance().background;
            let piece = Piece::BuildNamedIndex(cid, number);
            match background.run(piece, built).await {
                Some(Built::Refused(why)) => {
                    tracing::warn!(index = %name, ?why, "an index could not be built and is dropped");
                }
                Some(Built::Whole { .. } | Built::Gone | Built::Elsewhere) | None => {}
            }
        }
        Ok(())
    }
}
