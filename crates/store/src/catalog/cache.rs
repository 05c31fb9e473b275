//! The newest image that a process has of the catalog.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use lapsedb_kv::Snapshot;
use tokio::sync::Mutex;

use crate::Store;
use crate::catalog::Catalog;
use crate::catalog::changes::Position;
use crate::error::Result;
use crate::index::named::FilterCompiler;

/// An image, and the newest commit at which it was known to be the engine's.
pub(crate) struct Image {
    stamp: u64,
    catalog: Arc<Catalog>,
}

/// The newest image.
pub(crate) struct CatalogCache {
    newest: ArcSwap<Image>,
    /// Held by whoever reads the catalog whole: many requests come at once after a start, and one of them does it for all.
    reads_whole: Mutex<()>,
}

impl Default for CatalogCache {
    fn default() -> CatalogCache {
        CatalogCache {
            newest: ArcSwap::from_pointee(Image {
                stamp: 0,
                catalog: Arc::new(Catalog::empty()),
            }),
            reads_whole: Mutex::default(),
        }
    }
}

impl CatalogCache {
    /// The image that is known now. To be asked before a snapshot is taken: then it is not newer than the snapshot.
    pub(crate) fn known(&self) -> Guard<Arc<Image>> {
        self.newest.load()
    }

    /// The catalog of a snapshot, before which an image was known.
    pub(crate) async fn at(
        &self,
        known: &Arc<Image>,
        snapshot: &impl Snapshot,
        language: Option<&FilterCompiler>,
    ) -> Result<Arc<Catalog>> {
        let stamp = snapshot.stamp().0;
        if known.stamp == stamp {
            return Ok(Arc::clone(&known.catalog));
        }
        let newest = self.newest.load();
        if newest.stamp == stamp {
            return Ok(Arc::clone(&newest.catalog));
        }
        let position = Position::of(snapshot).await?;
        // What others have read meanwhile saves work, unless it is newer than the snapshot.
        let base = match newest.catalog.epoch <= position.epoch {
            true => &newest.catalog,
            false => &known.catalog,
        };
        match follow(base, snapshot, position, language).await? {
            Some(catalog) => Ok(self.keep(stamp, catalog)),
            None => self.read_whole(snapshot, position, language).await,
        }
    }

    /// Reads the catalog of a snapshot whole, unless somebody has just done so.
    async fn read_whole(
        &self,
        snapshot: &impl Snapshot,
        position: Position,
        language: Option<&FilterCompiler>,
    ) -> Result<Arc<Catalog>> {
        let _one_at_a_time = self.reads_whole.lock().await;
        let stamp = snapshot.stamp().0;
        let newest = self.newest.load_full();
        if newest.catalog.epoch <= position.epoch
            && let Some(catalog) = follow(&newest.catalog, snapshot, position, language).await?
        {
            return Ok(self.keep(stamp, catalog));
        }
        let work = Arc::clone(&newest.catalog.work);
        let catalog = Catalog::load(snapshot, position, work, language).await?;
        Ok(self.keep(stamp, Arc::new(catalog)))
    }

    /// Keeps an image, if it is the newest: several requests may look at once.
    fn keep(&self, stamp: u64, catalog: Arc<Catalog>) -> Arc<Catalog> {
        let fresh = Arc::new(Image {
            stamp,
            catalog: Arc::clone(&catalog),
        });
        self.newest.rcu(|current| {
            if current.stamp < stamp {
                Arc::clone(&fresh)
            } else {
                Arc::clone(current)
            }
        });
        catalog
    }
}

/// The catalog of a snapshot, from an image that is not newer; none, if it is not known what has changed since.
async fn follow(
    base: &Arc<Catalog>,
    snapshot: &impl Snapshot,
    position: Position,
    language: Option<&FilterCompiler>,
) -> Result<Option<Arc<Catalog>>> {
    if base.epoch == position.epoch {
        return Ok(Some(Arc::clone(base)));
    }
    let moved = base.moved_to(snapshot, position, language).await?;
    Ok(moved.map(Arc::new))
}

impl Store {
    /// How many catalog records have been read from the engine since the start, and how many entries of its image were listed:
    /// for tests that count work.
    #[must_use]
    pub fn catalog_work(&self) -> (u64, u64) {
        self.catalog.known().catalog.work.total()
    }
}
