//! Whether the calendar is right: compared, bucket by bucket, with a count of everything stored.

use std::collections::BTreeMap;

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::{Settled, Stored};

use crate::catalog::Collection;
use crate::entries;
use crate::error::Result;
use crate::keys::{self, TALLY_UNITS, TallyKind};
use crate::settled::Ledger;
use crate::usage::{Sum, Tally, bucket_of};
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
        let settled = Ledger::load(&self.snapshot, collection.cid).await?.settled;
        let (mut live, mut expired) = (Sum::default(), Sum::default());
        let mut counted: BTreeMap<Vec<u8>, Sum> = BTreeMap::new();
        let mut scan = self.whole(Space::Items, collection);
        loop {
            let page = self.snapshot.scan(scan.clone()).await?;
            for (_, value) in &page.rows {
                let header = Stored::new(Bytes::clone(value)).header()?;
                if settled.covers(header.ttl, header.written) {
                    continue;
                }
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
                    if straddles(kind, (second / width, width), settled) {
                        continue;
                    }
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
            buckets_wrong: self.differences(collection, settled, counted).await?,
        })
    }

    /// How many buckets differ between the calendar and a count.
    async fn differences(
        &self,
        collection: &Collection,
        settled: Settled,
        mut counted: BTreeMap<Vec<u8>, Sum>,
    ) -> Result<u64> {
        let mut wrong = 0;
        let mut scan = self.whole(Space::Tally, collection);
        loop {
            let page = self.snapshot.scan(scan.clone()).await?;
            for (key, value) in &page.rows {
                if is_unread(key, settled) {
                    continue;
                }
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

/// Whether a settled mark stands within a bucket. Such a one is never read: the calendar is, from behind the mark.
fn straddles(kind: TallyKind, (bucket, width): (u64, u64), settled: Settled) -> bool {
    let mark = match kind {
        TallyKind::Written => settled.written,
        TallyKind::Due => settled.due,
        TallyKind::Never => None,
    };
    let first = bucket.saturating_mul(width);
    mark.is_some_and(|mark| first <= mark.0 && mark.0 < first.saturating_add(width - 1))
}

/// The same of a bucket that is told by its key.
fn is_unread(key: &[u8], settled: Settled) -> bool {
    let kind = [TallyKind::Written, TallyKind::Due]
        .into_iter()
        .find(|kind| key.get(4) == Some(&(*kind as u8)));
    let width = key
        .get(5)
        .and_then(|unit| TALLY_UNITS.get(usize::from(*unit)));
    match (kind, width, bucket_of(key)) {
        (Some(kind), Some(width), Some(bucket)) => straddles(kind, (bucket, *width), settled),
        _ => false,
    }
}
