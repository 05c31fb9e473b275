//! The newest image that a process has of the catalog.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use lapsedb_kv::Snapshot;

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
pub(crate) struct CatalogCache(ArcSwap<Image>);

impl Default for CatalogCache {
    fn default() -> CatalogCache {
        CatalogCache(ArcSwap::from_pointee(Image {
            stamp: 0,
            catalog: Arc::new(Catalog::empty()),
        }))
    }
}

impl CatalogCache {
    /// The image that is known now. To be asked before a snapshot is taken: then it is not newer than the snapshot.
    pub(crate) fn known(&self) -> Guard<Arc<Image>> {
        self.0.load()
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
        let newest = self.0.load();
        if newest.stamp == stamp {
            return Ok(Arc::clone(&newest.catalog));
        }
        let position = Position::of(snapshot).await?;
        // What others have read meanwhile saves work, unless it is newer than the snapshot.
        let base = match newest.catalog.epoch <= position.epoch {
            true => &newest.catalog,
            false => &known.catalog,
        };
        let catalog = if base.epoch == position.epoch {
            Arc::clone(base)
        } else {
            Arc::new(base.moved_to(snapshot, position, language).await?)
        };
        let fresh = Arc::new(Image {
            stamp,
            catalog: Arc::clone(&catalog),
        });
        // Several requests may look at once; the newest image stays.
        self.0.rcu(|current| {
            if current.stamp < stamp {
                Arc::clone(&fresh)
            } else {
                Arc::clone(current)
            }
        });
        Ok(catalog)
    }
}

impl Store {
    /// How many catalog records have been read from the engine since the start, and how many entries of its image were listed:
    /// for tests that count work.
    #[must_use]
    pub fn catalog_work(&self) -> (u64, u64) {
        self.catalog.known().catalog.work.total()
    }
}
