//! One scan under way: the living items that rows are, or that entries stand for, in the order of the rows.

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::{HEADER_BYTES, Lens, Live, Mark, Stored};

use super::{ItemPage, ScanLimits, Span, View};
use crate::catalog::Collection;
use crate::change_feed::Within;
use crate::error::Result;
use crate::keys::ItemKey;
use crate::usage::Tally;

/// How many rows one step of a scan asks of the engine.
const SCAN_ROWS_STEP: usize = 256;
/// The same where many items are wanted: so many entries are held at once.
const ENTRIES_STEP: usize = 4096;
/// How many bytes one step of a scan asks of the engine.
const SCAN_BYTES_STEP: usize = 4 << 20;

/// Items that entries stand for are read so many at once, before it is known how large they are.
const TOGETHER_MIN: usize = 4;
/// The same at most.
const TOGETHER_MAX: usize = 64;
/// About so many bytes of them are in memory beyond what a page holds.
const TOGETHER_BYTES: usize = 256 << 10;

/// So many items that are passed by cost about as much as one that is asked for by its key.
const PASSED_PER_GET: u64 = 4;
/// For fewer items it is not worth to ask how many there are.
const PASSING_MIN: usize = SCAN_ROWS_STEP;

/// One scan under way.
pub(super) struct Walk<'a> {
    pub(super) view: &'a View,
    pub(super) lens: Lens,
    pub(super) collection: &'a Collection,
    space: Space,
    /// What the items must lie in, where the spans hold others too.
    within: Option<Within<'a>>,
    limits: ScanLimits,
    bytes_left: usize,
    /// Items that are read at once.
    together: usize,
    /// How many items the collection holds, once that was asked.
    held: Option<Tally>,
    page: ItemPage,
}

/// An item and its key.
pub(super) type Found = (ItemKey, Live<Bytes>);

impl<'a> Walk<'a> {
    /// A scan of a space; of items only those in a range of partitions, if there is one.
    pub(super) fn new(
        view: &'a View,
        collection: &'a Collection,
        (space, within): (Space, Option<Within<'a>>),
        limits: ScanLimits,
    ) -> Walk<'a> {
        Walk {
            view,
            lens: view.lens(collection),
            collection,
            space,
            within,
            limits,
            bytes_left: limits.bytes_max,
            together: TOGETHER_MIN,
            held: None,
            page: ItemPage::default(),
        }
    }

    /// What was found.
    pub(super) fn into_page(self) -> ItemPage {
        self.page
    }

    /// Walks one span; true if the page is full.
    pub(super) async fn span(&mut self, span: Span) -> Result<bool> {
        let mut scan = Scan {
            space: self.space,
            from: span.from,
            to: span.to,
            reverse: false,
            rows_max: 0,
            bytes_max: 0,
        };
        let step_max = match self.space {
            Space::Items => SCAN_ROWS_STEP,
            _ => ENTRIES_STEP,
        };
        loop {
            let room = self.limits.items_max.saturating_sub(self.page.items.len());
            scan.rows_max = room.clamp(1, step_max);
            scan.bytes_max = self.bytes_left.clamp(1, SCAN_BYTES_STEP);
            let step = self.view.snapshot.scan(scan.clone()).await?;
            let mut rows = step.rows.as_slice();
            while !rows.is_empty() {
                let passing = self.passing(rows.len()).await?;
                let count = passing.map_or(self.together, |(count, _)| count);
                let (some, rest) = rows.split_at(count.min(rows.len()));
                rows = rest;
                let items = match passing {
                    Some((_, bytes)) => self.items_passing(some, bytes).await?,
                    None => self.items_of(some).await?,
                };
                for ((key, _), item) in some.iter().zip(items) {
                    self.page.entries_read += 1;
                    let Some((own, item)) = item else {
                        continue;
                    };
                    self.bytes_left = self.bytes_left.saturating_sub(item.body().len());
                    self.page.items.push((own, item));
                    self.page.places.push(key.clone());
                    if self.page.items.len() >= self.limits.items_max || self.bytes_left == 0 {
                        scan.resume_after(key);
                        self.page.resume = Some(scan.from);
                        return Ok(true);
                    }
                }
            }
            if !step.more {
                return Ok(false);
            }
            if let Some((last, _)) = step.rows.last() {
                scan.resume_after(last);
            }
        }
    }

    /// Of how many entries the items are best read by passing through all items of the collection; none, if each is better
    /// asked for by its key. They are not more than the page has room for, if they are of a usual size; and all items
    /// together are not many times that. Also says how many bytes they have then.
    async fn passing(&mut self, entries: usize) -> Result<Option<(usize, usize)>> {
        if entries < PASSING_MIN || self.space == Space::Items {
            return Ok(None);
        }
        let held = match self.held {
            Some(held) => held,
            None => *self.held.insert(self.view.held(self.collection).await?),
        };
        let each = held.bytes.div_ceil(held.items.max(1)).max(1);
        let room = u64::try_from(self.bytes_left).unwrap_or(u64::MAX) / each;
        let count = entries.min(usize::try_from(room).unwrap_or(usize::MAX));
        let worth = count >= PASSING_MIN
            && held.items <= PASSED_PER_GET * u64::try_from(count).unwrap_or(u64::MAX);
        let each = usize::try_from(each).unwrap_or(usize::MAX);
        let usual = each.saturating_add(HEADER_BYTES).saturating_mul(count);
        Ok(worth.then_some((count, usual.min(2 * SCAN_BYTES_STEP))))
    }

    /// The living items that some entries stand for, each in the place of its entry.
    async fn items_of(&mut self, rows: &[(Bytes, Bytes)]) -> Result<Vec<Option<Found>>> {
        if self.space == Space::Items {
            let items = rows
                .iter()
                .map(|(key, value)| self.item(key, value.clone()));
            return items.collect();
        }
        let keys = self.keys_of(rows)?;
        let wanted: Vec<Vec<u8>> = keys
            .iter()
            .flatten()
            .map(|key| key.as_bytes().to_vec())
            .collect();
        let stored = self.view.snapshot.multi_get(Space::Items, &wanted).await?;
        let mut bytes = 0;
        let mut stored = stored.into_iter();
        let mut items = Vec::with_capacity(rows.len());
        for key in keys {
            let Some(key) = key else {
                items.push(None);
                continue;
            };
            let Some(own) = stored.next().flatten().map(Bytes::from) else {
                items.push(None);
                continue;
            };
            bytes += own.len();
            let item = Stored::new(own).reveal(&self.lens)?;
            items.push(item.map(|item| (key, item)));
        }
        // Large items come one by one, so that no more of them are in memory than the page has room for.
        let each = (bytes / rows.len().max(1)).max(1);
        self.together = (TOGETHER_BYTES / each).clamp(1, TOGETHER_MAX);
        Ok(items)
    }

    /// The keys of the items that entries stand for; none in the place of a dead one.
    pub(super) fn keys_of(&self, rows: &[(Bytes, Bytes)]) -> Result<Vec<Option<ItemKey>>> {
        let key = |(_, value): &(Bytes, Bytes)| {
            let (mark, tail) = Mark::split(value)?;
            let live = mark.is_live(&self.lens);
            Ok(live.then(|| ItemKey::from_tail(self.collection.cid, tail)))
        };
        rows.iter().map(key).collect()
    }

    /// The item that a row is, if it is alive and in the range.
    fn item(&self, key: &[u8], value: Bytes) -> Result<Option<Found>> {
        let key = ItemKey::from_bytes(key);
        if let Some(within) = &self.within
            && !within.contains(self.collection, &key)
        {
            return Ok(None);
        }
        let item = Stored::new(value).reveal(&self.lens)?;
        Ok(item.map(|item| (key, item)))
    }
}
