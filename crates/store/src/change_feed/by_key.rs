//! Reads a small part of a large collection by its items instead of by the log, which would be walked in vain.

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::{Live, Stored};

use super::{ChangeLimits, ChangePage, ChangesAfter, Within};
use crate::catalog::Collection;
use crate::error::Result;
use crate::keys::ItemKey;
use crate::view::{ItemRange, View};

/// Items of a part that is still small.
const PART_ROWS_MAX: usize = 2000;
/// Bytes of a part that is still small.
const PART_BYTES_MAX: usize = 4 << 20;
/// How many items one step asks of the engine.
const STEP_ROWS_MAX: usize = 256;

impl View {
    /// The same page as [`View::changes`], found by reading all items of the range and putting them in the order of their
    /// changes; none if the range holds too many for that, or is everything.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn changes_by_key(
        &self,
        collection: &Collection,
        range: &ItemRange,
        after: ChangesAfter,
        limits: ChangeLimits,
    ) -> Result<Option<ChangePage>> {
        let Some((mut found, entries_read)) = self.changed_items(collection, range, after).await?
        else {
            return Ok(None);
        };
        found.sort_unstable_by_key(|(_, item)| (item.header().lsn, item.header().index));
        let end = self.lsn().max(after.lsn);
        let mut page = ChangePage {
            items: Vec::new(),
            next: end,
            caught_up: true,
            entries_read,
        };
        let mut bytes_left = limits.bytes_max;
        let mut seen = after.lsn;
        for (key, item) in found {
            let lsn = item.header().lsn;
            let full = page.items.len() >= limits.items_max || bytes_left == 0;
            // A page ends between commits, never within one.
            if full && lsn != seen {
                page.next = seen;
                page.caught_up = false;
                break;
            }
            seen = lsn;
            bytes_left = bytes_left.saturating_sub(item.body().len());
            page.items.push((key, item));
        }
        Ok(Some(page))
    }

    /// The living items of a range that changed behind a place, in no order, and how many were looked at.
    async fn changed_items(
        &self,
        collection: &Collection,
        range: &ItemRange,
        after: ChangesAfter,
    ) -> Result<Option<(Vec<(ItemKey, Live<Bytes>)>, u64)>> {
        let Some(bounds) = range.item_bounds(collection) else {
            return Ok(None);
        };
        let (lens, within) = (self.lens(collection), Within::new(collection, range));
        let mut found = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        for (from, to) in bounds {
            let mut scan = Scan {
                space: Space::Items,
                from,
                to,
                reverse: false,
                rows_max: STEP_ROWS_MAX,
                bytes_max: PART_BYTES_MAX,
            };
            loop {
                let step = self.snapshot.scan(scan.clone()).await?;
                for (key, value) in step.rows {
                    scan.resume_after(&key);
                    rows += 1;
                    bytes += value.len();
                    let key = ItemKey::from_bytes(&key);
                    if !within.contains(collection, &key) {
                        continue;
                    }
                    let item = Stored::new(value).reveal(&lens)?;
                    let changed = item.filter(|item| {
                        let header = item.header();
                        header.lsn > after.lsn && header.written >= after.since
                    });
                    found.extend(changed.map(|item| (key, item)));
                }
                if rows > PART_ROWS_MAX || bytes > PART_BYTES_MAX {
                    return Ok(None);
                }
                if !step.more {
                    break;
                }
            }
        }
        Ok(Some((found, rows as u64)))
    }
}
