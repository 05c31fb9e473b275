//! Goes through the documents of a collection, a stretch at a time, and can go on later in another view.
//!
//! Between two stretches nothing is held but a place in the order: what dies or is deleted meanwhile is not seen, and
//! nothing is seen twice, because an update does not move a document.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_mql::stages::Provenance;
use lapsedb_record::{Expiry, Lens, Live};
use lapsedb_store::{Collection, ItemKey, ItemRange, ScanLimits};
use lapsedb_value::{Object, bson};

use crate::cursors::encoded;
use crate::documents::fault::Result;
use crate::documents::id::{DocumentId, ID};
use crate::documents::look::Look;
use crate::documents::scan::IndexScan;
use crate::sessions::Overlay;

/// Documents read in one step.
const STEP_ROWS: usize = 256;
/// The same where all are read in the order of their creation: many at once cost less each.
pub(crate) const STEP_ROWS_OF_ALL: usize = 4096;
/// Bytes read in one step.
const STEP_BYTES: usize = 4 << 20;

/// Where documents come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// All, in the order of their creation.
    Everything,
    /// Those with these ids.
    Ids(Vec<DocumentId>),
    /// Those with these keys, which an index has named.
    Keys(Arc<Vec<ItemKey>>),
    /// Those that an index names, as it is read.
    Scan(Box<IndexScan>),
}

/// A document that was found alive.
pub(crate) struct Row {
    pub(crate) key: ItemKey,
    pub(crate) ordinal: u64,
    pub(crate) body: Bytes,
    /// The parts of the index entry that named it, if one was read for it.
    pub(crate) entry: Option<Vec<u8>>,
    /// How many entries of an index were passed to find it.
    pub(crate) passed: u64,
    /// When it expires.
    pub(crate) expiry: Expiry,
    place: Place,
}

/// Where a way goes on that begins with a document.
#[derive(Clone, Debug)]
enum Place {
    Key(Bytes),
    At(usize),
}

impl Row {
    /// One that was come by on a way that nobody goes on from.
    pub(crate) fn passed(key: ItemKey, live: &Live<&[u8]>, lens: &Lens) -> Row {
        Row {
            key,
            ordinal: live.header().ordinal,
            body: Bytes::copy_from_slice(live.body()),
            entry: None,
            passed: 0,
            expiry: live.expiry(lens),
            place: Place::At(0),
        }
    }

    /// Where what is made of it comes from. One that only its transaction has is not found again by a number.
    pub(crate) fn provenance(&self) -> Provenance {
        let expires = match self.expiry {
            Expiry::Never => u64::MAX,
            Expiry::At(end) => end.0,
        };
        match self.ordinal {
            0 => Provenance::of_others(expires),
            ordinal => Provenance::of(ordinal, expires),
        }
    }

    /// Its address, of the document that it holds.
    pub(crate) fn id(&self, look: &Look<'_>, document: &Object) -> DocumentId {
        match &look.collection {
            Some(collection) => DocumentId::of_stored(collection, &self.key, document),
            None => DocumentId::of_document(document),
        }
    }

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
    /// The next id; or, behind the stored documents, the next one that only the transaction has.
    at: usize,
    stored_ended: bool,
    ended: bool,
    /// Behind the last stored document that was seen.
    behind: Option<Vec<u8>>,
}

impl Walk {
    pub(crate) const fn new(source: Source) -> Walk {
        Walk {
            source,
            resume: None,
            at: 0,
            stored_ended: false,
            ended: false,
            behind: None,
        }
    }

    /// Whether it leads to all documents of the collection.
    pub(crate) const fn is_everything(&self) -> bool {
        matches!(self.source, Source::Everything)
    }

    /// Whether there is nothing more.
    pub(crate) const fn ended(&self) -> bool {
        self.ended
    }

    /// Whether any stored document has been seen.
    pub(crate) const fn has_seen(&self) -> bool {
        self.behind.is_some()
    }

    /// Goes on behind the last document that was seen, once there are more.
    pub(crate) fn go_on(&mut self) {
        if self.ended && self.behind.is_some() {
            self.resume.clone_from(&self.behind);
            self.stored_ended = false;
            self.ended = false;
        }
    }

    /// Goes on with this document the next time.
    pub(crate) fn back_to(&mut self, row: &Row) {
        self.ended = false;
        match &row.place {
            Place::Key(key) => {
                self.resume = Some(key.to_vec());
                self.stored_ended = false;
            }
            Place::At(at) => match &mut self.source {
                Source::Scan(scan) => scan.back_to(*at),
                Source::Everything | Source::Ids(_) | Source::Keys(_) => self.at = *at,
            },
        }
    }

    /// The next stretch, of about so many documents; it may be empty before the end.
    pub(crate) async fn next(&mut self, look: &Look<'_>, rows_max: usize) -> Result<Vec<Row>> {
        let Some(collection) = &look.collection else {
            self.ended = true;
            return Ok(Vec::new());
        };
        let of_all = rows_max.clamp(1, STEP_ROWS_OF_ALL);
        let rows_max = rows_max.clamp(1, STEP_ROWS);
        if matches!(self.source, Source::Scan(_)) {
            return self.by_entries(look, collection, rows_max).await;
        }
        match &self.source {
            Source::Scan(_) => Ok(Vec::new()),
            Source::Everything if self.stored_ended => Ok(self.fresh(look, collection, rows_max)),
            Source::Everything => self.stored(look, collection, of_all).await,
            Source::Ids(ids) => {
                let ids = ids.get(self.at..).unwrap_or_default();
                let ids = ids.get(..rows_max).unwrap_or(ids).to_vec();
                self.by_ids(look, collection, &ids).await
            }
            Source::Keys(keys) => {
                let keys = Arc::clone(keys);
                let rest = keys.get(self.at..).unwrap_or_default();
                let step = rest.get(..rows_max).unwrap_or(rest);
                self.by_keys(look, collection, step).await
            }
        }
    }

    async fn stored(
        &mut self,
        look: &Look<'_>,
        collection: &Collection,
        rows_max: usize,
    ) -> Result<Vec<Row>> {
        let limits = ScanLimits {
            items_max: rows_max,
            bytes_max: STEP_BYTES,
        };
        let resume = self.resume.as_deref();
        let everything = ItemRange::Everything;
        let page = look
            .view
            .scan(collection, &everything, resume, limits)
            .await?;
        self.stored_ended = page.resume.is_none();
        self.ended = self.stored_ended && look.overlay.is_none();
        self.at = 0;
        self.resume = page.resume;
        if let Some(last) = page.places.last() {
            self.behind = Some([last, &[0][..]].concat());
        }
        let lens = look.view.lens(collection);
        let overlay = look.overlay.as_deref();
        let mut rows = Vec::with_capacity(page.items.len());
        for ((key, live), place) in page.items.into_iter().zip(page.places) {
            let (ordinal, expiry) = (live.header().ordinal, live.expiry(&lens));
            let Some((body, expiry)) = changed(overlay, &lens, (body(live), expiry))? else {
                continue;
            };
            rows.push(Row {
                key,
                ordinal,
                body,
                entry: None,
                passed: 0,
                expiry,
                place: Place::Key(place),
            });
        }
        Ok(rows)
    }

    /// What only the transaction has, behind everything stored.
    fn fresh(&mut self, look: &Look<'_>, collection: &Collection, rows_max: usize) -> Vec<Row> {
        let changes = look
            .overlay
            .as_deref()
            .map(Overlay::changes)
            .unwrap_or_default();
        let lens = look.view.lens(collection);
        let mut rows = Vec::new();
        while let Some(change) = changes.get(self.at) {
            if rows.len() >= rows_max {
                return rows;
            }
            if let (true, Some(document)) = (change.fresh, change.shown(&lens)) {
                rows.push(Row {
                    key: change.id.key(collection),
                    ordinal: 0,
                    body: encoded(document),
                    entry: None,
                    passed: 0,
                    expiry: change.expiry(&lens),
                    place: Place::At(self.at),
                });
            }
            self.at += 1;
        }
        self.ended = true;
        rows
    }

    async fn by_ids(
        &mut self,
        look: &Look<'_>,
        collection: &Collection,
        ids: &[DocumentId],
    ) -> Result<Vec<Row>> {
        let mut rows = Vec::with_capacity(ids.len());
        self.ended = ids.is_empty();
        let lens = look.view.lens(collection);
        for id in ids {
            let at = self.at;
            self.at += 1;
            let key = id.key(collection);
            let change = look.overlay.as_ref().and_then(|overlay| overlay.of(id));
            let (ordinal, expiry, body) = match change {
                Some(change) => match change.shown(&lens) {
                    Some(document) => (0, change.expiry(&lens), encoded(document)),
                    None => continue,
                },
                None => match look.view.get(collection, &key).await? {
                    Some(live) => (
                        live.header().ordinal,
                        live.expiry(&lens),
                        Bytes::copy_from_slice(live.body()),
                    ),
                    None => continue,
                },
            };
            rows.push(Row {
                key,
                ordinal,
                body,
                entry: None,
                passed: 1,
                expiry,
                place: Place::At(at),
            });
        }
        if let Source::Ids(all) = &self.source {
            self.ended = self.at >= all.len();
        }
        Ok(rows)
    }
}

impl Walk {
    async fn by_keys(
        &mut self,
        look: &Look<'_>,
        collection: &Collection,
        keys: &[ItemKey],
    ) -> Result<Vec<Row>> {
        let lens = look.view.lens(collection);
        let mut rows = Vec::with_capacity(keys.len());
        for (key, live) in keys.iter().zip(look.view.items(collection, keys).await?) {
            let place = Place::At(self.at);
            self.at += 1;
            if let Some(live) = live {
                rows.push(Row {
                    key: key.clone(),
                    ordinal: live.header().ordinal,
                    expiry: live.expiry(&lens),
                    body: body(live),
                    entry: None,
                    passed: 0,
                    place,
                });
            }
        }
        self.ended =
            keys.is_empty() || matches!(&self.source, Source::Keys(all) if self.at >= all.len());
        Ok(rows)
    }
}

impl Walk {
    async fn by_entries(
        &mut self,
        look: &Look<'_>,
        collection: &Collection,
        rows_max: usize,
    ) -> Result<Vec<Row>> {
        let Source::Scan(scan) = &mut self.source else {
            return Ok(Vec::new());
        };
        let hits = scan.next(&look.view, collection, rows_max).await?;
        self.ended = hits.is_empty();
        let keys: Vec<ItemKey> = hits.iter().map(|hit| hit.item.clone()).collect();
        let found = look.view.items(collection, &keys).await?;
        let lens = look.view.lens(collection);
        let mut rows = Vec::with_capacity(hits.len());
        for ((at, hit), live) in hits.into_iter().enumerate().zip(found) {
            // A document that has been made anew since is another one.
            if let Some(live) = live.filter(|live| live.header().ordinal == hit.ordinal) {
                rows.push(Row {
                    key: hit.item,
                    ordinal: hit.ordinal,
                    expiry: live.expiry(&lens),
                    body: body(live),
                    entry: Some(hit.value),
                    passed: hit.passed,
                    place: Place::At(at),
                });
            }
        }
        Ok(rows)
    }
}

/// The body of a document in the memory it was read into.
fn body(live: Live<Bytes>) -> Bytes {
    let (bytes, begin) = live.into_bytes();
    bytes.slice(begin.min(bytes.len())..)
}

/// A stored document as a transaction sees it, and when it expires; none, if it has deleted it, or made it anew at the end.
fn changed(
    overlay: Option<&Overlay>,
    lens: &Lens,
    (body, expiry): (Bytes, Expiry),
) -> Result<Option<(Bytes, Expiry)>> {
    let Some(overlay) = overlay else {
        return Ok(Some((body, expiry)));
    };
    let id = match bson::find(&body, &[ID])? {
        Some(raw) => DocumentId::of(&raw.to_value()?),
        None => return Ok(Some((body, expiry))),
    };
    Ok(match overlay.of(&id) {
        None => Some((body, expiry)),
        Some(change) if change.fresh => None,
        Some(change) => change
            .shown(lens)
            .map(|document| (encoded(document), change.expiry(lens))),
    })
}
