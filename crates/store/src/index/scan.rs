//! Reads entries without their items: of an index, or of the order of creation. Every entry is judged by its own mark.

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space, prefix_end};
use lapsedb_record::{Live, Mark, Stored};

use super::encode::PathId;
use super::named::NamedIndex;
use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::keys::{self, ItemKey};
use crate::view::View;

/// Bytes of an index key before its value: collection, generation, path.
const VALUE_AT: usize = 16;
const ORDINAL_BYTES: usize = 8;
/// How many bytes one step of a scan of entries asks of the engine.
const ENTRY_BYTES_STEP: usize = 1 << 20;
/// How many entries are looked at in one step when the first living one is wanted.
const SAMPLE_ROWS_STEP: usize = 64;

/// A stretch of entries, from (inclusive) to (exclusive).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySpan {
    space: Space,
    from: Vec<u8>,
    to: Vec<u8>,
}

/// What entries begin with, at one end of a stretch of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Beginning {
    /// The bytes of parts, made of [`super::bson_key::prefix`] of one part after the other.
    pub parts: Vec<u8>,
    /// Whether entries that begin so belong to the stretch.
    pub included: bool,
}

/// An entry of a living item.
#[derive(Clone, Debug)]
pub struct Entry {
    key: Bytes,
    in_index: bool,
    /// The creation ordinal of the item.
    pub ordinal: u64,
    /// Where the item lies.
    pub item: ItemKey,
}

/// A stretch of living entries.
#[derive(Clone, Debug, Default)]
pub struct EntryPage {
    /// The entries, in scan order.
    pub entries: Vec<Entry>,
    /// What is left of the span behind them; none at its end.
    pub rest: Option<EntrySpan>,
    /// How many entries were read to find them.
    pub read: u64,
}

impl Entry {
    /// The encoded value; empty for an entry of the order of creation.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        if !self.in_index {
            return &[];
        }
        let end = self.key.len().saturating_sub(ORDINAL_BYTES);
        self.key.get(VALUE_AT..end).unwrap_or_default()
    }

    fn read(collection: &Collection, space: Space, key: Bytes, tail: &[u8]) -> Result<Entry> {
        let ordinal = key
            .last_chunk::<ORDINAL_BYTES>()
            .map(|bytes| u64::from_be_bytes(*bytes))
            .ok_or_else(|| StoreError::Corrupt("an index entry is too short".into()))?;
        Ok(Entry {
            in_index: space == Space::Index,
            ordinal,
            item: ItemKey::from_tail(collection.cid, tail),
            key,
        })
    }
}

impl EntrySpan {
    /// Every item, in the order of creation.
    #[must_use]
    pub fn everything(collection: &Collection) -> EntrySpan {
        let from = keys::collection_prefix(collection.cid);
        let to = prefix_end(&from);
        let space = Space::Order;
        EntrySpan { space, from, to }
    }

    /// The entries of one encoded value at a path: in the order of creation.
    #[must_use]
    pub fn of_value(collection: &Collection, path: u64, value: &[u8]) -> EntrySpan {
        let from = keys::index_stem(collection, path, value);
        let to = prefix_end(&from);
        let space = Space::Index;
        EntrySpan { space, from, to }
    }

    /// The entries at a path whose encoded values lie in `[from, to)`.
    #[must_use]
    pub fn between(collection: &Collection, path: u64, from: &[u8], to: &[u8]) -> EntrySpan {
        EntrySpan {
            space: Space::Index,
            from: keys::index_stem(collection, path, from),
            to: keys::index_stem(collection, path, to),
        }
    }

    /// The entries of a named index whose parts lie between two beginnings, both inclusive: with empty ones, all of them.
    /// A beginning is made of [`super::bson_key::prefix`] of one part after the other.
    #[must_use]
    pub fn named(
        collection: &Collection,
        index: &NamedIndex,
        low: &[u8],
        high: &[u8],
    ) -> EntrySpan {
        let stem = keys::named_stem(collection.cid, index.number);
        EntrySpan {
            space: Space::Index,
            from: [stem.as_slice(), low].concat(),
            to: prefix_end(&[stem.as_slice(), high].concat()),
        }
    }

    /// The entries of a named index between two beginnings of parts; with empty ones and both included, all of them.
    #[must_use]
    pub fn named_between(
        collection: &Collection,
        index: &NamedIndex,
        low: &Beginning,
        high: &Beginning,
    ) -> EntrySpan {
        let stem = keys::named_stem(collection.cid, index.number);
        let at = |beginning: &Beginning| [stem.as_slice(), &beginning.parts].concat();
        EntrySpan {
            space: Space::Index,
            from: match low.included {
                true => at(low),
                false => prefix_end(&at(low)),
            },
            to: match high.included {
                true => prefix_end(&at(high)),
                false => at(high),
            },
        }
    }

    /// The entries of the span that have this very value.
    #[must_use]
    pub fn only(&self, value: &[u8]) -> EntrySpan {
        let stem = self.from.get(..VALUE_AT).unwrap_or_default();
        let from = [stem, value].concat();
        EntrySpan {
            space: self.space,
            to: prefix_end(&from),
            from,
        }
    }

    /// The entries of the span before those of a value, with them or without.
    #[must_use]
    pub fn up_to(mut self, value: &[u8], inclusive: bool) -> EntrySpan {
        let only = self.only(value);
        self.to = if inclusive { only.to } else { only.from };
        self
    }

    /// What is left of a span when it begins, in the direction of the scan, with one value and ordinal (inclusive).
    #[must_use]
    pub fn starting_at(mut self, value: &[u8], ordinal: u64, reverse: bool) -> EntrySpan {
        let at = match self.space {
            Space::Index => {
                let stem = self.from.get(..VALUE_AT).unwrap_or_default();
                [stem, value, &ordinal.to_be_bytes()].concat()
            }
            _ => {
                let prefix = self.from.get(..4).unwrap_or_default();
                [prefix, &ordinal.to_be_bytes()].concat()
            }
        };
        if reverse {
            let end = [at.as_slice(), &[0]].concat();
            if self.to.is_empty() || end < self.to {
                self.to = end;
            }
        } else if at > self.from {
            self.from = at;
        }
        self
    }

    /// Whether nothing can lie in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.to.is_empty() && self.from >= self.to
    }
}

impl View {
    /// Living entries of a span, in either direction.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn entries(
        &self,
        collection: &Collection,
        span: EntrySpan,
        reverse: bool,
        rows_max: usize,
    ) -> Result<EntryPage> {
        let mut page = EntryPage::default();
        if span.is_empty() {
            return Ok(page);
        }
        let lens = self.lens(collection);
        let mut scan = Scan {
            space: span.space,
            from: span.from,
            to: span.to,
            reverse,
            rows_max,
            bytes_max: ENTRY_BYTES_STEP,
        };
        let step = self.snapshot.scan(scan.clone()).await?;
        for (key, value) in step.rows {
            scan.resume_after(&key);
            page.read += 1;
            let (mark, tail) = Mark::split(&value)?;
            if mark.is_live(&lens) {
                let entry = Entry::read(collection, scan.space, key, tail)?;
                page.entries.push(entry);
            }
        }
        if step.more {
            page.rest = Some(EntrySpan {
                space: scan.space,
                from: scan.from,
                to: scan.to,
            });
        }
        Ok(page)
    }

    /// The living items at some keys, in the order of the keys.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn items(
        &self,
        collection: &Collection,
        keys: &[ItemKey],
    ) -> Result<Vec<Option<Live<Bytes>>>> {
        let lens = self.lens(collection);
        let wanted: Vec<Vec<u8>> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
        let found = self.snapshot.multi_get(Space::Items, &wanted).await?;
        found
            .into_iter()
            .map(|bytes| match bytes {
                Some(bytes) => Ok(Stored::new(Bytes::from(bytes)).reveal(&lens)?),
                None => Ok(None),
            })
            .collect()
    }

    /// The shapes that items of a collection have, each with a living item of it; none if there are more than so many.
    /// Items of one shape have values at the same indexed paths, arrays' elements apart.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn shapes(&self, collection: &Collection, max: usize) -> Result<Shapes> {
        let mut shapes = Shapes::default();
        let all = EntrySpan::of_value(collection, PathId::SHAPE.0, &[]);
        let mut from = all.from;
        loop {
            let mut scan = Scan {
                space: Space::Index,
                from,
                to: all.to.clone(),
                reverse: false,
                rows_max: 1,
                bytes_max: 1,
            };
            let step = self.snapshot.scan(scan.clone()).await?;
            let Some((key, _)) = step.rows.first() else {
                return Ok(shapes);
            };
            let stem = key.get(..key.len().saturating_sub(ORDINAL_BYTES));
            scan.from = stem.unwrap_or_default().to_vec();
            scan.to = prefix_end(&scan.from);
            from = scan.to.clone();
            let value = scan.from.get(VALUE_AT..).unwrap_or_default().to_vec();
            if let Some(sample) = self.sample(collection, scan, &mut shapes.read).await? {
                if shapes.known.len() >= max {
                    shapes.too_many = true;
                    return Ok(shapes);
                }
                shapes.known.push((value, sample));
            }
        }
    }

    /// The first living item of a span.
    async fn sample(
        &self,
        collection: &Collection,
        scan: Scan,
        read: &mut u64,
    ) -> Result<Option<ItemKey>> {
        let mut span = EntrySpan {
            space: scan.space,
            from: scan.from,
            to: scan.to,
        };
        let mut rows = 1;
        loop {
            let page = self.entries(collection, span, false, rows).await?;
            *read += page.read;
            match (page.entries.into_iter().next(), page.rest) {
                (Some(entry), _) => return Ok(Some(entry.item)),
                (None, Some(rest)) => span = rest,
                (None, None) => return Ok(None),
            }
            rows = SAMPLE_ROWS_STEP;
        }
    }
}

/// The shapes of a collection's items.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    /// The encoded value under [`PathId::SHAPE`] of each, and a living item that has it.
    pub known: Vec<(Vec<u8>, ItemKey)>,
    /// Whether there are more than were asked for.
    pub too_many: bool,
    /// How many entries were read to find them.
    pub read: u64,
}
