//! What changed since a place in the log: each living item once, at its newest change, in the order of commits.
//!
//! The log has one entry per item, in one of two classes; a reader follows both side by side. Knows no wire, so that
//! every door can read it: a place is the lsn of the last commit a reader has seen.

mod by_key;

use std::collections::VecDeque;

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::{Lens, Live, Mark, Secs, Stored};

use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::keys::{self, ItemKey};
use crate::partition_key::EpkRange;
use crate::view::{ItemRange, Span, View};

/// The classes of the log.
const CLASSES: [u8; 2] = [0, 1];
/// How many entries of a class one step asks of the engine.
const STEP_ROWS_MAX: usize = 256;
/// How many bytes of entries of a class one step asks of the engine.
const STEP_BYTES_MAX: usize = 1 << 20;

/// Where a reader stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangesAfter {
    /// The last commit it has seen; 0 before the first.
    pub lsn: u64,
    /// Only what was written in this second or later.
    pub since: Secs,
}

/// How much a page of changes may hold. All changes of one commit are on one page, even beyond these.
#[derive(Clone, Copy, Debug)]
pub struct ChangeLimits {
    /// Items at most.
    pub items_max: usize,
    /// Bytes of bodies at most; the item that passes it is still returned.
    pub bytes_max: usize,
    /// Entries of the log to look at, of which others are dead or belong to other ranges.
    pub entries_max: u64,
}

/// A stretch of changes.
pub struct ChangePage {
    /// The changed items, in the order of their changes; each one's header tells its lsn.
    pub items: Vec<(ItemKey, Live<Bytes>)>,
    /// The last commit the reader has now seen.
    pub next: u64,
    /// Whether the view holds nothing behind it.
    pub caught_up: bool,
    /// How many entries of the log were read.
    pub entries_read: u64,
}

impl View {
    /// Changes of living items of a range behind a place in the log.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn changes(
        &self,
        collection: &Collection,
        range: &ItemRange,
        after: ChangesAfter,
        limits: ChangeLimits,
    ) -> Result<ChangePage> {
        let reader = Reader {
            view: self,
            lens: self.lens(collection),
            within: Within::new(collection, range),
            collection,
            since: after.since,
        };
        reader.run(after.lsn, limits).await
    }

    /// The last commit before everything that was written in a second or later: write times never fall along the log.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn lsn_before(&self, collection: &Collection, second: Secs) -> Result<u64> {
        let mut early_end = 0;
        for class in CLASSES {
            // Entries below `low` were written before the second, those from `high` on were not.
            let (mut low, mut high) = (early_end, self.lsn().saturating_add(1));
            while low < high {
                let middle = low + (high - low) / 2;
                let mut lane = Lane::new(collection, class, middle, 1);
                match lane.head(self).await? {
                    Some(entry) if entry.mark.written < second => low = entry.place.0 + 1,
                    Some(_) | None => high = middle,
                }
            }
            // An early entry of one class means that everything before it is early in the other too.
            early_end = early_end.max(low);
        }
        Ok(early_end.saturating_sub(1))
    }
}

/// The items a reader follows, told by the tail of their keys.
pub(crate) enum Within<'a> {
    Everything,
    /// The tail begins with a partition's bytes.
    Partition(Vec<u8>),
    /// The partition key in it begins with these levels' bytes.
    Prefix(Vec<u8>),
    Epk(&'a EpkRange),
    Spans(&'a [Span]),
}

impl<'a> Within<'a> {
    pub(crate) fn new(collection: &Collection, range: &'a ItemRange) -> Within<'a> {
        match range {
            ItemRange::Everything => Within::Everything,
            ItemRange::Partition(partition) => {
                let prefix = keys::partition_prefix(collection, partition);
                Within::Partition(ItemKey::from_bytes(&prefix).tail().to_vec())
            }
            ItemRange::Prefix(partition) => {
                let mut levels = Vec::new();
                partition.encode_levels(&mut levels);
                Within::Prefix(levels)
            }
            ItemRange::Epk(range) => Within::Epk(range),
            ItemRange::Spans(spans) => Within::Spans(spans),
        }
    }

    pub(crate) fn contains(&self, collection: &Collection, key: &ItemKey) -> bool {
        match self {
            Within::Everything => true,
            Within::Partition(prefix) => key.tail().starts_with(prefix),
            Within::Prefix(levels) => keys::is_under(collection, key, levels),
            Within::Epk(range) => {
                keys::epk_of(collection, key).is_some_and(|epk| range.contains(epk))
            }
            Within::Spans(spans) => Span::any_holds(spans, key),
        }
    }
}

/// One page under way.
struct Reader<'a> {
    view: &'a View,
    lens: Lens,
    collection: &'a Collection,
    within: Within<'a>,
    since: Secs,
}

impl Reader<'_> {
    async fn run(&self, after: u64, limits: ChangeLimits) -> Result<ChangePage> {
        let end = self.view.lsn();
        let mut page = ChangePage {
            items: Vec::new(),
            next: after.max(end),
            caught_up: true,
            entries_read: 0,
        };
        if after >= end {
            return Ok(page);
        }
        let rows_max = limits.items_max.saturating_add(1).min(STEP_ROWS_MAX);
        let mut lanes = CLASSES.map(|class| Lane::new(self.collection, class, after + 1, rows_max));
        let mut bytes_left = limits.bytes_max;
        let mut seen = after;
        while let Some(entry) = first(&mut lanes, self.view).await? {
            let lsn = entry.place.0;
            let full = page.items.len() >= limits.items_max
                || bytes_left == 0
                || page.entries_read >= limits.entries_max;
            // A page ends between commits, never within one.
            if full && lsn != seen && seen != after {
                page.next = seen;
                page.caught_up = false;
                return Ok(page);
            }
            seen = lsn;
            page.entries_read += 1;
            if let Some((key, item)) = self.item_of(&entry).await? {
                bytes_left = bytes_left.saturating_sub(item.body().len());
                page.items.push((key, item));
            }
        }
        Ok(page)
    }

    /// The living item whose newest change an entry stands for.
    async fn item_of(&self, entry: &Entry) -> Result<Option<(ItemKey, Live<Bytes>)>> {
        if entry.mark.written < self.since || !entry.mark.is_live(&self.lens) {
            return Ok(None);
        }
        let key = ItemKey::from_tail(self.collection.cid, &entry.tail);
        if !self.within.contains(self.collection, &key) {
            return Ok(None);
        }
        let Some(bytes) = self.view.snapshot.get(Space::Items, key.as_bytes()).await? else {
            return Ok(None);
        };
        let item = Stored::new(Bytes::from(bytes)).reveal(&self.lens)?;
        // Who judges by an entry's own bytes is not misled by one that was left behind.
        Ok(item
            .filter(|item| item.header().lsn == entry.place.0)
            .map(|item| (key, item)))
    }
}

/// An entry of the log.
struct Entry {
    /// The commit, and the place within it.
    place: (u64, u16),
    mark: Mark,
    /// The item's key without its collection.
    tail: Bytes,
}

impl Entry {
    fn read(key: &[u8], value: Bytes) -> Result<Entry> {
        let short = || StoreError::Corrupt("a log entry is too short".into());
        let (mark, rest) = Mark::split(&value)?;
        let tail = value.slice_ref(keys::log_tail(rest));
        Ok(Entry {
            place: keys::log_place(key).ok_or_else(short)?,
            mark,
            tail,
        })
    }
}

/// One class of the log, read in steps.
struct Lane {
    from: Vec<u8>,
    to: Vec<u8>,
    rows_max: usize,
    entries: VecDeque<Entry>,
    more: bool,
}

impl Lane {
    fn new(collection: &Collection, class: u8, lsn: u64, rows_max: usize) -> Lane {
        let mut from = keys::log_prefix(collection.cid, class);
        let to = lapsedb_kv::prefix_end(&from);
        from.extend_from_slice(&lsn.to_be_bytes());
        Lane {
            from,
            to,
            rows_max,
            entries: VecDeque::new(),
            more: true,
        }
    }

    async fn head(&mut self, view: &View) -> Result<Option<&Entry>> {
        if self.entries.is_empty() && self.more {
            let scan = Scan {
                space: Space::Log,
                from: self.from.clone(),
                to: self.to.clone(),
                reverse: false,
                rows_max: self.rows_max,
                bytes_max: STEP_BYTES_MAX,
            };
            let step = view.snapshot.scan(scan).await?;
            self.more = step.more;
            for (key, value) in step.rows {
                self.from.clear();
                self.from.extend_from_slice(&key);
                self.from.push(0);
                self.entries.push_back(Entry::read(&key, value)?);
            }
        }
        Ok(self.entries.front())
    }
}

/// Takes the entry that comes first in the log.
async fn first(lanes: &mut [Lane; CLASSES.len()], view: &View) -> Result<Option<Entry>> {
    let mut best: Option<((u64, u16), usize)> = None;
    for (at, lane) in lanes.iter_mut().enumerate() {
        if let Some(entry) = lane.head(view).await?
            && best.is_none_or(|(place, _)| entry.place < place)
        {
            best = Some((entry.place, at));
        }
    }
    Ok(best.and_then(|(_, at)| lanes.get_mut(at)?.entries.pop_front()))
}
