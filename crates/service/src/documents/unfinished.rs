//! Finishes what a process that ended, or a client that left, has begun with named indexes.

use std::collections::HashMap;

use lapsedb_store::{Built, Collection, CollectionId, Upkeep};

use crate::background::Piece;
use crate::error::Result;
use crate::service::Service;

/// An index that is unfinished for so many ticks, and that nobody builds, has been abandoned.
const ABANDONED_TICKS: u32 = 5;

/// The number that stands for bases of times to live among a collection's indexes: no index has it.
const BASES: u32 = 0;

/// For how many ticks indexes have been unfinished, and bases.
pub(crate) type Unfinished = HashMap<(CollectionId, u32), u32>;

impl Service {
    /// Builds indexes whose makers have gone, finds bases, and removes what dropped indexes have left.
    pub(crate) async fn finish_indexes(&self) -> Result<()> {
        let view = self.store().view().await?;
        let mut seen = Unfinished::new();
        let mut abandoned = Vec::new();
        let before = self.maintenance().unfinished.lock().clone();
        for collection in view.catalog().in_need_of(Upkeep::NamedIndexes) {
            for number in unfinished(&collection) {
                let key = (collection.cid, number);
                let ticks = before.get(&key).copied().unwrap_or(0) + 1;
                seen.insert(key, ticks);
                // Bases wait for nobody: whoever is at it keeps others out, and until all are found nothing may expire.
                if number == BASES || ticks >= ABANDONED_TICKS {
                    abandoned.push(key);
                }
            }
            let swept = self.store().sweep_indexes(collection.cid);
            let background = &self.maintenance().background;
            let piece = Piece::RemoveIndexes(collection.cid);
            background.run(piece, swept).await;
        }
        *self.maintenance().unfinished.lock() = seen;
        drop(view);
        for (cid, number) in abandoned {
            let background = &self.maintenance().background;
            let piece = Piece::BuildNamedIndex(cid, number);
            if number == BASES {
                background.run(piece, self.store().rebase(cid)).await;
                continue;
            }
            let built = self.store().build_named_index(cid, number);
            match background.run(piece, built).await {
                Some(Built::Refused(why)) => {
                    tracing::warn!(
                        collection = cid.0,
                        number,
                        ?why,
                        "an index could not be built and is dropped"
                    );
                }
                Some(Built::Whole { .. } | Built::Gone | Built::Elsewhere) | None => {}
            }
        }
        Ok(())
    }
}

/// The numbers of a collection's indexes that are to be built.
fn unfinished(collection: &Collection) -> Vec<u32> {
    let indexes = collection.indexes.all().iter();
    let unbuilt = indexes.filter(|index| index.is_unfinished());
    let bases = collection.indexes.is_rebasing().then_some(BASES);
    unbuilt.map(|index| index.number).chain(bases).collect()
}
