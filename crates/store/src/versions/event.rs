//! One change as it is kept: what happened, when, and the record before and after.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | format |
//! | 1 | kind |
//! | 8 | second of the commit |
//! | 8 | second in which it happened: for an expiry the moment of it, else that of the commit |
//! | 4 | length of the item's key without its collection |
//! | 4 | length of the record after the change; 0 if there is none |
//! | 8 | millisecond in which it happened; not in format 1 |
//! | 4 | length of the note; not in format 1 |
//! | … | note, key, record after, record before |
//!
//! The note is what the writer wants readers to know; this crate does not look into it.

use bytes::Bytes;
use lapsedb_kv::{Fill, Template};
use lapsedb_record::{Header, Millis, Secs, Stored};

use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, ItemKey};

/// The format this version writes.
const EVENT_FORMAT: u8 = 2;
/// The format before it, which it still reads.
const EVENT_FORMAT_1: u8 = 1;
/// Bytes before the note.
const EVENT_HEAD_BYTES: usize = 38;
/// Bytes before the key in format 1.
const EVENT_HEAD_BYTES_1: usize = 26;
/// Where the second of the commit stands.
const SECOND_AT: usize = 2;

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was made: nothing alive had its id.
    Create,
    /// Its content was replaced.
    Replace,
    /// Somebody deleted it.
    Delete,
    /// Its time had come.
    Expire,
}

/// Where an event stands: its commit, and its place among the events of that commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The commit.
    pub lsn: u64,
    /// Its place within the commit.
    pub index: u16,
}

impl Place {
    /// Behind all events of a commit.
    #[must_use]
    pub const fn end_of(lsn: u64) -> Place {
        Place {
            lsn,
            index: u16::MAX,
        }
    }
}

/// A record as it was: of the past, so no rule hides it while its event is kept.
#[derive(Clone)]
pub struct Image {
    header: Header,
    stored: Stored<Bytes>,
}

impl Image {
    fn read(bytes: Bytes) -> Result<Option<Image>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let stored = Stored::new(bytes);
        stored.remains()?;
        Ok(Some(Image {
            header: stored.header()?,
            stored,
        }))
    }

    /// Write time, lsn, ordinal, own ttl, size.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The body: a BSON document without system properties.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub fn body(&self) -> Result<&[u8]> {
        Ok(self.stored.remains()?)
    }
}

/// One change.
#[derive(Clone)]
pub struct Event {
    /// Where it stands.
    pub place: Place,
    /// What happened.
    pub kind: EventKind,
    /// The second of the commit that told it; it never falls from one event to the next.
    pub committed: Secs,
    /// The second in which it happened: for an expiry the moment of it, which may lie before it was told.
    pub happened: Secs,
    /// The same to the millisecond, where that is known.
    pub at: Millis,
    /// What the writer wants readers to know; empty if nothing.
    pub note: Bytes,
    /// The item.
    pub key: ItemKey,
    /// The item after the change; none if it is gone.
    pub current: Option<Image>,
    /// The item before the change; none if it was made.
    pub previous: Option<Image>,
}

impl Event {
    /// Reads an event as the engine returned it.
    pub(crate) fn read(key: &[u8], value: &Bytes) -> Result<Event> {
        let short = || StoreError::Corrupt("a version event is too short".into());
        let (cid, rest) = key.split_first_chunk::<4>().ok_or_else(short)?;
        let (lsn, index) = rest.split_first_chunk::<8>().ok_or_else(short)?;
        let index = index.first_chunk::<2>().ok_or_else(short)?;
        let long = |at: usize| read_u64(value, at).ok_or_else(short);
        let kind = *value.get(1).ok_or_else(short)?;
        let happened = Secs(long(SECOND_AT + 8)?);
        let (at, note_begin, note_len) = match value.first() {
            Some(&EVENT_FORMAT_1) => (happened.millis(), EVENT_HEAD_BYTES_1, 0),
            Some(&EVENT_FORMAT) => {
                let length = value.get(34..).and_then(|rest| rest.first_chunk::<4>());
                let length = u32::from_be_bytes(*length.ok_or_else(short)?);
                (Millis(long(26)?), EVENT_HEAD_BYTES, length as usize)
            }
            Some(_) | None => {
                return Err(StoreError::Corrupt(
                    "a version event has an unknown format".into(),
                ));
            }
        };
        let lengths = long(18)?;
        let note_end = note_begin + note_len;
        let tail_end = note_end + (lengths >> 32) as usize;
        let current_end = tail_end + (lengths & u64::from(u32::MAX)) as usize;
        if value.len() < current_end {
            return Err(short());
        }
        let tail = &value[note_end..tail_end];
        Ok(Event {
            place: Place {
                lsn: u64::from_be_bytes(*lsn),
                index: u16::from_be_bytes(*index),
            },
            kind: kind_of(kind)?,
            committed: Secs(long(SECOND_AT)?),
            happened,
            at,
            note: value.slice(note_begin..note_end),
            key: ItemKey::from_tail(CollectionId(u32::from_be_bytes(*cid)), tail),
            current: Image::read(value.slice(tail_end..current_end))?,
            previous: Image::read(value.slice(current_end..))?,
        })
    }
}

/// The second of the commit that told a stored event.
pub(crate) fn committed_of(value: &[u8]) -> Result<Secs> {
    read_u64(value, SECOND_AT)
        .map(Secs)
        .ok_or_else(|| StoreError::Corrupt("a version event is too short".into()))
}

fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_be_bytes(*bytes))
}

fn kind_of(byte: u8) -> Result<EventKind> {
    match byte {
        0 => Ok(EventKind::Create),
        1 => Ok(EventKind::Replace),
        2 => Ok(EventKind::Delete),
        3 => Ok(EventKind::Expire),
        other => Err(StoreError::Corrupt(format!(
            "a version event has the unknown kind {other}"
        ))),
    }
}

/// An event about to be committed.
pub(crate) struct NewEvent<'a> {
    pub(crate) kind: EventKind,
    /// When it happened, if not at the commit.
    pub(crate) happened: Option<Millis>,
    pub(crate) note: &'a [u8],
    pub(crate) key: &'a ItemKey,
    pub(crate) current: Option<Template>,
    pub(crate) previous: Option<Template>,
}

impl NewEvent<'_> {
    /// The value; the commit fills in what only it knows.
    pub(crate) fn value(self) -> Template {
        let current = self.current.unwrap_or_default();
        let previous = self.previous.unwrap_or_default();
        let tail = self.key.tail();
        let now = Fill::Seconds { plus: 0, unit: 1 };
        let size = tail.len() + self.note.len() + current.bytes.len() + previous.bytes.len();
        let mut value = Template::with_capacity(EVENT_HEAD_BYTES + size);
        value.push(&[EVENT_FORMAT, self.kind as u8]).fill(now);
        match self.happened {
            None => value.fill(now),
            Some(at) => value.push(&at.secs().0.to_be_bytes()),
        };
        // Keys, notes and records are far below 4 GiB: the engine's caps see to it.
        let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
        value.push(&length(tail.len()));
        value.push(&length(current.bytes.len()));
        match self.happened {
            None => value.fill(Fill::Millis),
            Some(at) => value.push(&at.0.to_be_bytes()),
        };
        value.push(&length(self.note.len()));
        value.push(self.note).push(tail);
        for image in [current, previous] {
            let begin = u32::try_from(value.bytes.len()).unwrap_or(u32::MAX);
            value.push(&image.bytes);
            for (at, fill) in image.fills {
                value.fills.push((begin.saturating_add(at), fill));
            }
        }
        value
    }
}

/// Key of an event, which gets its lsn from the commit.
pub(crate) fn key_next(cid: CollectionId, index: u16) -> Template {
    let mut key = Template::from(keys::collection_prefix(cid));
    key.fill(Fill::Stamp).push(&index.to_be_bytes());
    key
}

/// The first key behind a place.
pub(crate) fn key_after(cid: CollectionId, place: Place) -> Vec<u8> {
    let mut key = keys::collection_prefix(cid);
    match place.index.checked_add(1) {
        Some(index) => {
            key.extend_from_slice(&place.lsn.to_be_bytes());
            key.extend_from_slice(&index.to_be_bytes());
        }
        None => key.extend_from_slice(&place.lsn.saturating_add(1).to_be_bytes()),
    }
    key
}
