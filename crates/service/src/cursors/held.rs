//! Documents that were found and put in order before the first was given.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use lapsedb_record::Millis;
use lapsedb_store::ItemKey;
use lapsedb_value::budget::Held as Counted;
use lapsedb_value::{Budget, bson};

use crate::cursors::Room;
use crate::documents::fault::Result;
use crate::documents::id::{DocumentId, ID};
use crate::documents::{Look, Row};

/// A document that waits.
pub(crate) struct HeldDocument {
    pub(crate) body: Bytes,
    /// The document it comes from. It is given only while that is live.
    pub(crate) origin: Option<Origin>,
}

/// A document that was found.
pub(crate) struct Origin {
    key: ItemKey,
    /// Its creation.
    ordinal: u64,
    /// By what its transaction may have changed it.
    id: Option<DocumentId>,
}

impl Origin {
    /// The origin of what is made of a row.
    pub(crate) fn of(look: &Look<'_>, row: &Row) -> Result<Origin> {
        let id = match &look.overlay {
            Some(_) => bson::find(&row.body, &[ID])?,
            None => None,
        };
        Ok(Origin {
            key: row.key.clone(),
            ordinal: row.ordinal,
            id: match id {
                Some(id) => Some(DocumentId::of(&id.to_value()?)),
                None => None,
            },
        })
    }

    /// Whether it is still there.
    async fn is_live(&self, look: &Look<'_>) -> Result<bool> {
        let Some(collection) = &look.collection else {
            return Ok(false);
        };
        if let (Some(overlay), Some(id)) = (&look.overlay, &self.id)
            && let Some(change) = overlay.of(id)
        {
            return Ok(change.shown(&look.view.lens(collection)).is_some());
        }
        let found = look.view.get(collection, &self.key).await?;
        Ok(found.is_some_and(|live| live.header().ordinal == self.ordinal))
    }
}

/// Documents that wait.
pub(crate) struct Held {
    documents: VecDeque<HeldDocument>,
    /// When they were found; none, if they come from no collection.
    found: Option<Millis>,
    /// What they take.
    counted: Counted,
}

impl HeldDocument {
    /// Bytes that it takes while it waits.
    fn bytes(&self) -> usize {
        size_of::<HeldDocument>() + self.body.len()
    }
}

impl Held {
    pub(crate) fn new(
        documents: impl IntoIterator<Item = HeldDocument>,
        found: Option<Millis>,
        budget: &Arc<Budget>,
    ) -> Held {
        let documents: VecDeque<HeldDocument> = documents.into_iter().collect();
        let counted = Counted::new(budget);
        counted.put(documents.iter().map(HeldDocument::bytes).sum());
        Held {
            documents,
            found,
            counted,
        }
    }

    /// Fills the first batch, which needs no view; true at the end.
    pub(crate) fn first(&mut self, room: &mut Room) -> bool {
        while let Some(held) = self.documents.pop_front() {
            let (bytes, HeldDocument { body, origin }) = (held.bytes(), held);
            if let Err(body) = room.take(body) {
                self.documents.push_front(HeldDocument { body, origin });
                return false;
            }
            self.counted.remove(bytes);
        }
        true
    }

    /// Fills a batch; true at the end.
    pub(crate) async fn next(&mut self, look: &Look<'_>, room: &mut Room) -> Result<bool> {
        // The first batch is given in the view that found them, unless it was asked for later.
        let fresh = self.found.take() == Some(look.view.now());
        while let Some(held) = self.documents.pop_front() {
            let bytes = held.bytes();
            if !fresh && !is_live(look, &held).await? {
                self.counted.remove(bytes);
                continue;
            }
            if let Err(body) = room.take(held.body) {
                self.documents.push_front(HeldDocument {
                    body,
                    origin: held.origin,
                });
                return Ok(false);
            }
            self.counted.remove(bytes);
        }
        Ok(true)
    }
}

/// Whether what a document comes from is still there. What comes from no single document lives as long as its cursor.
async fn is_live(look: &Look<'_>, held: &HeldDocument) -> Result<bool> {
    match &held.origin {
        Some(origin) => origin.is_live(look).await,
        None => Ok(true),
    }
}
