//! What collections hold, as answers about their items and scripts tell it besides: counted between requests, about once
//! a second, so that no request counts. Whoever wants the figures of this instant reads the collection with its usage.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use lapsedb_store::{Collection, CollectionId, Tally, View};
use parking_lot::RwLock;

use crate::background::Piece;
use crate::collections::CollectionUsage;
use crate::error::Result;
use crate::scripts::{self, ScriptKind};
use crate::service::Service;

/// What a collection holds, as of the last count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    /// Its living items.
    pub live: Tally,
    /// Its stored procedures.
    pub stored_procedures: usize,
    /// Its triggers.
    pub triggers: usize,
    /// Its user-defined functions.
    pub functions: usize,
}

impl From<&CollectionUsage> for Figure {
    fn from(usage: &CollectionUsage) -> Figure {
        Figure {
            live: usage.items.live,
            stored_procedures: usage.stored_procedures,
            triggers: usage.triggers,
            functions: usage.functions,
        }
    }
}

/// The figures of the collections that were asked for lately.
#[derive(Default)]
pub(crate) struct Figures(RwLock<HashMap<CollectionId, Counted>>);

struct Counted {
    figure: Figure,
    /// Whether somebody has asked since it was counted.
    asked: AtomicBool,
}

impl Figures {
    fn get(&self, cid: CollectionId) -> Option<Figure> {
        let counted = self.0.read();
        let counted = counted.get(&cid)?;
        counted.asked.store(true, Ordering::Relaxed);
        Some(counted.figure)
    }

    fn set(&self, cid: CollectionId, figure: Figure, asked: bool) {
        let counted = Counted {
            figure,
            asked: AtomicBool::new(asked),
        };
        self.0.write().insert(cid, counted);
    }

    /// Forgets what nobody has asked for since it was counted; the others are to be counted anew.
    fn asked(&self) -> Vec<CollectionId> {
        let mut figures = self.0.write();
        figures.retain(|_, counted| counted.asked.load(Ordering::Relaxed));
        figures.keys().copied().collect()
    }

    fn forget(&self, cid: CollectionId) {
        self.0.write().remove(&cid);
    }
}

impl Service {
    /// What a collection holds, about a second ago at most. Counted here only when nobody has asked lately; none if that fails.
    pub async fn figure(&self, collection: &Collection) -> Option<Figure> {
        if let Some(figure) = self.figures().get(collection.cid) {
            return Some(figure);
        }
        // On the heap: requests should not carry the state of what is seldom done.
        let counted = Box::pin(async {
            let view = self.store().view().await?;
            count(&view, collection).await
        });
        let figure = counted.await.ok()?;
        self.figures().set(collection.cid, figure, true);
        Some(figure)
    }

    /// Counts anew what somebody has asked for since the last tick.
    pub(crate) async fn count_figures(&self) -> Result<()> {
        let asked = self.figures().asked();
        if asked.is_empty() {
            return Ok(());
        }
        let view = self.store().view().await?;
        let background = &self.maintenance().background;
        for cid in asked {
            let counted = match view.catalog().collection_numbered(cid) {
                None => None,
                Some(collection) => {
                    let counted = count(&view, collection);
                    background.run(Piece::CountUsage(cid), counted).await
                }
            };
            match counted {
                Some(figure) => self.figures().set(cid, figure, false),
                None => self.figures().forget(cid),
            }
        }
        Ok(())
    }
}

async fn count(view: &View, collection: &Collection) -> Result<Figure> {
    Ok(Figure {
        live: view.live(collection).await?,
        stored_procedures: scripts::count(view, collection, ScriptKind::StoredProcedure).await?,
        triggers: scripts::count(view, collection, ScriptKind::Trigger).await?,
        functions: scripts::count(view, collection, ScriptKind::UserDefinedFunction).await?,
    })
}
