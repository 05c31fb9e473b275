//! Documents as they are found: filtered, projected, counted off.

use bytes::Bytes;
use lapsedb_value::{Object, bson, order};

use crate::charge::{self, QueryWork};
use crate::cursors::Room;
use crate::documents::fault::Result;
use crate::documents::id::ID;
use crate::documents::{Look, Needed, Walk, Work};

/// Documents looked at in one step when most may not match.
const STEP_ROWS: usize = 256;

/// A query that streams.
pub(crate) struct Query {
    pub(crate) walk: Walk,
    pub(crate) filter: crate::documents::language::Filter,
    /// What the filter looks at.
    pub(crate) needed: Needed,
    pub(crate) projection: Option<crate::documents::language::Projection>,
    /// How many are still passed over.
    pub(crate) skip: u64,
    /// How many may still come.
    pub(crate) left: u64,
}

impl Query {
    /// Fills a batch; true at the end.
    pub(crate) async fn next(
        &mut self,
        work: &Work,
        look: &Look<'_>,
        room: &mut Room,
    ) -> Result<bool> {
        let mut loaded = QueryWork::default();
        let ended = self.fill(work, look, room, &mut loaded).await?;
        look.spend(&work.ctx, charge::query(loaded));
        Ok(ended)
    }

    async fn fill(
        &mut self,
        work: &Work,
        look: &Look<'_>,
        room: &mut Room,
        loaded: &mut QueryWork,
    ) -> Result<bool> {
        while !self.walk.ended() && self.left > 0 {
            work.in_time()?;
            if room.left() == 0 {
                return Ok(false);
            }
            let few = self.filter.is_everything() && self.skip == 0;
            let step = if few {
                room.left().min(STEP_ROWS)
            } else {
                STEP_ROWS
            };
            for row in self.walk.next(look, step).await? {
                loaded.loaded_bytes += row.body.len();
                let Some(document) = self.shown(&row)? else {
                    continue;
                };
                if self.skip > 0 {
                    self.skip -= 1;
                    continue;
                }
                if self.left == 0 {
                    return Ok(true);
                }
                let bytes = document.len();
                if room.take(document).is_err() {
                    self.walk.back_to(&row);
                    return Ok(false);
                }
                loaded.returned_bytes += bytes;
                self.left -= 1;
            }
        }
        Ok(true)
    }

    /// The document as the client sees it, if it matches.
    fn shown(&self, row: &crate::documents::Row) -> Result<Option<Bytes>> {
        if self.filter.is_everything() && self.projection.is_none() {
            return Ok(Some(row.body.clone()));
        }
        if self.projection.is_none() && self.has_its_id(row)? {
            return Ok(Some(row.body.clone()));
        }
        let Some(projection) = &self.projection else {
            let matches = self.filter.matches(&self.needed.read(&row.body)?)?;
            return Ok(matches.then(|| row.body.clone()));
        };
        let document = row.document()?;
        let Some(position) = self.filter.match_with_position(&document)? else {
            return Ok(None);
        };
        Ok(Some(encoded(&projection.apply(document, position, None)?)))
    }

    /// Whether the filter asks for one `_id` and nothing else, and this document has it: then nothing more is read of it.
    fn has_its_id(&self, row: &crate::documents::Row) -> Result<bool> {
        let Some(wanted) = self.filter.id_alone() else {
            return Ok(false);
        };
        match bson::find(&row.body, &[ID])? {
            Some(own) => Ok(order::equal_bson(&own.to_value()?, wanted)),
            None => Ok(false),
        }
    }
}

/// A document as BSON.
pub(crate) fn encoded(document: &Object) -> Bytes {
    let mut bytes = Vec::with_capacity(256);
    bson::write_document(document, &mut bytes);
    Bytes::from(bytes)
}
