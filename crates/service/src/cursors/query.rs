//! Documents as they are found: filtered, projected, counted off.

use bytes::Bytes;
use lapsedb_store::ItemKey;
use lapsedb_store::index::named::keys::document_keys;
use lapsedb_value::{Object, Value, bson, order};

use crate::charge::{self, QueryWork};
use crate::cursors::Room;
use crate::documents::fault::{Fault, Result};
use crate::documents::id::ID;
use crate::documents::language::Match;
use crate::documents::{Look, Needed, Row, STEP_ROWS_OF_ALL, Walk, Work};

/// Code of a cursor whose collection has gone.
const QUERY_PLAN_KILLED: i32 = 175;
/// Code of a cursor whose place in a capped collection has gone.
const CAPPED_POSITION_LOST: i32 = 136;

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
    /// Whether it can go on only from a document that is still there, as in the natural order of a capped collection.
    pub(crate) holds_on: bool,
    /// The last document it has come to, and its creation.
    pub(crate) position: Option<(ItemKey, u64)>,
    /// Whether it goes on when there are more documents, and waits for them.
    pub(crate) tail: Option<Tail>,
    /// The order in which they come, for projections that show it.
    pub(crate) sort: Option<crate::documents::language::Sort>,
    /// What is shown beside or instead of the document.
    pub(crate) shows: Shows,
    /// What was looked at.
    pub(crate) tally: Tally,
}

/// How a query that has come to the end of a capped collection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The next batch waits until there is something.
    pub waits: bool,
}

/// What is shown beside or instead of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shows {
    /// The key by which an index named it, and nothing else.
    pub(crate) key: Option<KeyOf>,
    /// Its place in the order of creation.
    pub(crate) record_id: bool,
}

/// Whose key is shown.
#[derive(Clone, Debug)]
pub(crate) enum KeyOf {
    /// That of no index.
    None,
    /// The `_id`.
    Id,
    /// That in the index of this name.
    Index(lapsedb_value::Str),
}

/// What was looked at to find documents.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Entries of indexes.
    pub(crate) keys: u64,
    /// Documents.
    pub(crate) documents: u64,
    /// Documents that matched.
    pub(crate) matched: u64,
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
        self.check_position(look).await?;
        let ended = self.fill(work, look, room, &mut loaded).await?;
        look.spend(&work.ctx, charge::query(loaded));
        // Where there was nothing at all, there is no place to go on from.
        Ok(ended && !(self.tail.is_some() && self.walk.has_seen()))
    }

    /// Refuses to go on from a document that has been overwritten or deleted: what was between may have been, too.
    async fn check_position(&self, look: &Look<'_>) -> Result<()> {
        let (Some((key, ordinal)), Some(collection)) = (&self.position, &look.collection) else {
            return Ok(());
        };
        let found = look.view.get(collection, key).await?;
        if found.is_some_and(|live| live.header().ordinal == *ordinal) {
            return Ok(());
        }
        Err(Fault::new(
            CAPPED_POSITION_LOST,
            format!(
                "CollectionScan died due to position in capped collection being deleted. Last seen record id: RecordId({ordinal})"
            ),
        ))
    }

    async fn fill(
        &mut self,
        work: &Work,
        look: &Look<'_>,
        room: &mut Room,
        loaded: &mut QueryWork,
    ) -> Result<bool> {
        let mut step = 1;
        while !self.walk.ended() && self.left > 0 {
            work.in_time().await?;
            if room.left() == 0 {
                return Ok(false);
            }
            // No more are read than are asked for; if many do not match, ever more at once.
            let room_left = u64::try_from(room.left()).unwrap_or(u64::MAX);
            let wanted = self.left.min(room_left).saturating_add(self.skip);
            let wanted = usize::try_from(wanted).unwrap_or(STEP_ROWS_OF_ALL);
            step = wanted.max(step).min(STEP_ROWS_OF_ALL);
            for row in self.walk.next(look, step).await? {
                loaded.loaded_bytes += row.body.len();
                if self.left == 0 {
                    return Ok(true);
                }
                self.tally.documents += 1;
                self.tally.keys += row.passed;
                let shown = self.shown(look, &row)?;
                if room.left() > 0 {
                    self.come_to(&row);
                }
                let Some(document) = shown else {
                    continue;
                };
                self.tally.matched += 1;
                if self.skip > 0 {
                    self.skip -= 1;
                    continue;
                }
                let bytes = document.len();
                if room.take(document).is_err() {
                    self.walk.back_to(&row);
                    return Ok(false);
                }
                loaded.returned_bytes += bytes;
                self.left -= 1;
            }
            step *= 2;
        }
        Ok(true)
    }

    fn come_to(&mut self, row: &Row) {
        if self.holds_on {
            self.position = Some((row.key.clone(), row.ordinal));
        }
    }

    /// The document as the client sees it, if it matches.
    fn shown(&self, look: &Look<'_>, row: &Row) -> Result<Option<Bytes>> {
        let plain = self.projection.is_none() && self.shows.is_plain();
        if plain && (self.filter.is_everything() || self.has_its_id(row)?) {
            return Ok(Some(row.body.clone()));
        }
        if plain {
            let matches = self.filter.matches(&self.needed.read(&row.body)?)?;
            return Ok(matches.then(|| row.body.clone()));
        }
        let document = row.document()?;
        let Some(position) = self.filter.match_with_position(&document)? else {
            return Ok(None);
        };
        let key = match (&self.sort, &self.projection) {
            (Some(sort), Some(_)) => {
                Some(sort.key_beside(&document, position.score, position.distance)?)
            }
            _ => None,
        };
        self.present(look, row, document, (position, key.as_deref()))
            .map(Some)
    }

    /// Whether the filter asks for one `_id` and nothing else, and this document has it: then nothing more is read of it.
    fn has_its_id(&self, row: &Row) -> Result<bool> {
        let Some(wanted) = self.filter.id_alone() else {
            return Ok(false);
        };
        match bson::find(&row.body, &[ID])? {
            Some(own) => Ok(order::equal_bson(&own.to_value()?, wanted)),
            None => Ok(false),
        }
    }

    /// A document that was found, as the client sees it.
    pub(crate) fn present(
        &self,
        look: &Look<'_>,
        row: &Row,
        document: Object,
        (position, key): (Match, Option<&[Value]>),
    ) -> Result<Bytes> {
        if let Some(own) = &self.shows.key {
            return Ok(encoded(&own.of(look, row, &document)));
        }
        let mut shown = match &self.projection {
            None => document,
            Some(projection) => projection.apply(document, position, key)?,
        };
        if self.shows.record_id {
            let ordinal = i64::try_from(row.ordinal).unwrap_or(i64::MAX);
            shown.push("$recordId", Value::Int64(ordinal));
        }
        Ok(encoded(&shown))
    }
}

impl Shows {
    /// Whether documents are shown as they are.
    pub(crate) const fn is_plain(&self) -> bool {
        self.key.is_none() && !self.record_id
    }
}

impl KeyOf {
    /// The key by which a document was found.
    fn of(&self, look: &Look<'_>, row: &Row, document: &Object) -> Object {
        match self {
            KeyOf::None => Object::new(),
            KeyOf::Id => {
                let mut key = Object::with_capacity(1);
                key.push(ID, document.get(ID).cloned().unwrap_or_default());
                key
            }
            KeyOf::Index(name) => {
                let indexes = look
                    .collection
                    .as_ref()
                    .map(|collection| &collection.indexes);
                let Some(index) = indexes.and_then(|indexes| indexes.named(name)) else {
                    return Object::new();
                };
                let mut keys = document_keys(index, document);
                let own = keys
                    .iter()
                    .position(|(bytes, _)| row.entry.as_ref() == Some(bytes));
                match own.or((!keys.is_empty()).then_some(0)) {
                    Some(at) => keys.swap_remove(at).1,
                    None => Object::new(),
                }
            }
        }
    }
}

/// A document as BSON.
pub(crate) fn encoded(document: &Object) -> Bytes {
    let mut bytes = Vec::with_capacity(256);
    bson::write_document(document, &mut bytes);
    Bytes::from(bytes)
}
