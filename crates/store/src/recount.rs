//! Whether the calendar is right: compared, bucket by bucket, with a count of everything stored.

use std::collections::BTreeMap;

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::Stored;

use crate::catalog::Collection;
use crate::entries;
use crate::error::Result;
use crate::keys::{self, TALLY_UNITS};
use crate::usage::{Sum, Tally};
use crate::view::View;

/// How many records one step of the count reads.
const RECOUNT_ROWS_STEP: usize = 1000;
/// How many bytes one step of the count reads.
const RECOUNT_BYTES_STEP: usize = 4 << 20;

/// What a count of every stored record finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recount {
    /// Items that may be seen.
    pub live: Tally,
    /// Items that are dead and not yet purged.
    pub expired: Tally,
    /// Buckets of the calendar that say something else than the records do: 0, or the calendar is wrong.
    pub buckets_wrong: u64,
}

impl View {
    /// Counts a collection's records one by one and compares the calendar with them. As slow as the collection is large.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn recount(&self, collection: &Collection) -> Result<Recount> {
        let lens = self.lens(collection);
        let (mut live, mut expired) = (Sum::default(), Sum::default());
        let mut counted: BTreeMap<Vec<u8>, Sum> = BTreeMap::new();
        let mut scan = self.whole(Space::Items, collection);
        loop {
            let page = self.snapshot.scan(scan.clone()).await?;
            for (_, value) in &page.rows {
                let header = Stored::new(Bytes::clone(value)).header()?;
                let one = Sum {
                    items: 1,
                    bytes: i64::from(header.charged),
                };
                let side = if lens.is_live(&header.mark()) {
                    &mut live
                } else {
                    &mut expired
                };
                *side = side.plus(one);
                let (kind, second) = entries::bucket(header.ttl, header.written);
                for (unit, width) in (0..).zip(TALLY_UNITS) {
                    let key = keys::tally(collection.cid, kind, unit, second / width);
                    let sum = counted.entry(key).or_default();
                    *sum = sum.plus(one);
                }
            }
            match page.rows.last() {
                Some((key, _)) if page.more => scan.resume_after(key),
                _ => break,
            }
        }
        Ok(Recount {
            live: live.tally(),
            expired: expired.tally(),
            buckets_wrong: self.differences(collection, counted).await?,
        })
    }

    /// How many buckets differ between the calendar and a count.
    async fn differences(
        &self,
        collection: &Collection,
        mut counted: BTreeMap<Vec<u8>, Sum>,
    ) -> Result<u64> {
        let mut wrong = 0;
        let mut scan = self.whole(Space::Tally, collection);
        loop {
            let page = self.snapshot.scan(scan.clone()).await?;
            for (key, value) in &page.rows {
                let mut sum = Sum::default();
                sum.add(value)?;
                let expected = counted.remove(key.as_ref()).unwrap_or_default();
                wrong += u64::from(sum != expected);
            }
            match page.rows.last() {
                Some((key, _)) if page.more => scan.resume_after(key),
                // What is left was counted and stands in no bucket.
                _ => return Ok(wrong + counted.len() as u64),
            }
        }
    }

    fn whole(&self, space: Space, collection: &Collection) -> Scan {
        let mut scan = Scan::prefix(space, &keys::collection_prefix(collection.cid));
        scan.rows_max = RECOUNT_ROWS_STEP;
        scan.bytes_max = RECOUNT_BYTES_STEP;
        scan
    }
}
