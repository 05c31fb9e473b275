//! Documents as they are found: filtered, projected, counted off.

use bytes::Bytes;
use lapsedb_value::{Object, bson, order};

use crate::charge::{self, QueryWork};
use crate::cursors::Room;
use crate::documents::fault::{Fault, Result};
use crate::documents::id::ID;
use crate::documents::{Look, Needed, Walk, Work};

/// Documents looked at in one step when most may not match.
const STEP_ROWS: usize = 256;

/// Code of a cursor whose collection has gone.
const QUERY_PLAN_KILLED: i32 = 175;

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
    /// Whether it goes on when there are more documents, and waits for them.
    pub(crate) tail: Option<Tail>,
}

/// How a query that has come to the end of a capped collection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The next batch waits until there is something.
    pub waits: bool,
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
        if self.tail.is_some() {
            if look.collection.is_none() {
                return Err(Fault::new(QUERY_PLAN_KILLED, "collection dropped"));
            }
            self.walk.go_on();
        }
        let ended = self.fill(work, look, room, &mut loaded).await?;
        look.spend(&work.ctx, charge::query(loaded));
        // Where there was nothing at all, there is no place to go on from.
        Ok(ended && !(self.tail.is_some() && self.walk.has_seen()))
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
