//! Goes through the documents of a collection, a stretch at a time, and can go on later in another view.
//!
//! Between two stretches nothing is held but a place in the order: what dies or is deleted meanwhile is not seen, and
//! nothing is seen twice, because an update does not move a document.

use bytes::Bytes;
use lapsedb_store::{ItemKey, ItemRange, ScanLimits};
use lapsedb_value::{Object, bson};

use crate::documents::fault::Result;
use crate::documents::id::DocumentId;
use crate::documents::look::Look;

/// Documents read in one step.
const STEP_ROWS: usize = 256;
/// Bytes read in one step.
const STEP_BYTES: usize = 4 << 20;

/// Where documents come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// All, in the order of their creation.
    Everything,
    /// Those with these ids.
    Ids(Vec<DocumentId>),
}

/// A document that was found alive.
pub(crate) struct Row {
    pub(crate) key: ItemKey,
    pub(crate) ordinal: u64,
    pub(crate) body: Bytes,
    place: Place,
}

/// Where a way goes on that begins with a document.
#[derive(Clone, Debug)]
enum Place {
    Key(Vec<u8>),
    At(usize),
}

impl Row {
    /// The document.
    pub(crate) fn document(&self) -> Result<Object> {
        Ok(bson::read_document(&self.body)?)
    }
}

/// A way through documents.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    source: Source,
    resume: Option<Vec<u8>>,
    at: usize,
    ended: bool,
}

impl Walk {
    pub(crate) const fn new(source: Source) -> Walk {
        Walk {
            source,
            resume: None,
            at: 0,
            ended: false,
        }
    }

    /// Whether there is nothing more.
    pub(crate) const fn ended(&self) -> bool {
        self.ended
    }

    /// Goes on with this document the next time.
    pub(crate) fn back_to(&mut self, row: &Row) {
        self.ended = false;
        match &row.place {
            Place::Key(key) => self.resume = Some(key.clone()),
            Place::At(at) => self.at = *at,
        }
    }

    /// The next stretch, of at most so many documents; empty only at the end.
    pub(crate) async fn next(&mut self, look: &Look, rows_max: usize) -> Result<Vec<Row>> {
        let Some(collection) = &look.collection else {
            self.ended = true;
            return Ok(Vec::new());
        };
        match &self.source {
            Source::Everything => {
                let limits = ScanLimits {
                    items_max: rows_max.clamp(1, STEP_ROWS),
                    bytes_max: STEP_BYTES,
                };
                let page = look
                    .view
                    .scan(
                        collection,
                        &ItemRange::Everything,
                        self.resume.as_deref(),
                        limits,
                    )
                    .await?;
                self.ended = page.resume.is_none();
                self.resume = page.resume;
                Ok(page
                    .items
                    .into_iter()
                    .zip(page.places)
                    .map(|((key, live), place)| Row {
                        key,
                        ordinal: live.header().ordinal,
                        body: Bytes::copy_from_slice(live.body()),
                        place: Place::Key(place),
                    })
                    .collect())
            }
            Source::Ids(ids) => {
                let mut rows = Vec::new();
                while let Some(id) = ids.get(self.at) {
                    if rows.len() >= rows_max.max(1) {
                        return Ok(rows);
                    }
                    self.at += 1;
                    let key = id.key(collection);
                    if let Some(live) = look.view.get(collection, &key).await? {
                        rows.push(Row {
                            key,
                            ordinal: live.header().ordinal,
                            body: Bytes::copy_from_slice(live.body()),
                            place: Place::At(self.at - 1),
                        });
                    }
                }
                self.ended = true;
                Ok(rows)
            }
        }
    }
}
