//! Documents that were found and put in order before the first was given.

use std::collections::VecDeque;

use bytes::Bytes;
use lapsedb_store::ItemKey;

use crate::cursors::Room;
use crate::documents::Look;
use crate::documents::fault::Result;

/// A document that waits.
pub(crate) struct HeldDocument {
    pub(crate) body: Bytes,
    /// The stored document it comes from: its key and its creation. It is given only while that is alive.
    pub(crate) origin: Option<(ItemKey, u64)>,
}

/// Documents that wait.
pub(crate) struct Held {
    documents: VecDeque<HeldDocument>,
    /// The first batch is given in the view that found them.
    fresh: bool,
}

impl Held {
    pub(crate) fn new(documents: impl IntoIterator<Item = HeldDocument>) -> Held {
        Held {
            documents: documents.into_iter().collect(),
            fresh: true,
        }
    }

    /// Fills the first batch, which needs no view; true at the end.
    pub(crate) fn first(&mut self, room: &mut Room) -> bool {
        while let Some(HeldDocument { body, origin }) = self.documents.pop_front() {
            if let Err(body) = room.take(body) {
                self.documents.push_front(HeldDocument { body, origin });
                return false;
            }
        }
        true
    }

    /// Fills a batch; true at the end.
    pub(crate) async fn next(&mut self, look: &Look<'_>, room: &mut Room) -> Result<bool> {
        let fresh = std::mem::take(&mut self.fresh);
        while let Some(held) = self.documents.pop_front() {
            if !fresh && !alive(look, &held).await? {
                continue;
            }
            if let Err(body) = room.take(held.body) {
                self.documents.push_front(HeldDocument {
                    body,
                    origin: held.origin,
                });
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether what a document comes from is still there.
async fn alive(look: &Look<'_>, held: &HeldDocument) -> Result<bool> {
    let (Some((key, ordinal)), Some(collection)) = (&held.origin, &look.collection) else {
        // What comes from no single document lives as long as its cursor; what comes from a dropped collection does not.
        return Ok(held.origin.is_none());
    };
    let found = look.view.get(collection, key).await?;
    Ok(found.is_some_and(|live| live.header().ordinal == *ordinal))
}
