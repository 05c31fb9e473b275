//! The calendar: exact live counts and sizes at any instant, without touching a document.

use std::ops::ControlFlow;

use lapsedb_kv::{Scan, Snapshot, Space, tally};
use lapsedb_record::{Lens, Millis, Secs, Setting, Settled};

use crate::catalog::Collection;
use crate::dated::{DateCursor, DatedItem};
use crate::entries;
use crate::error::{Result, StoreError};
use crate::keys::{self, TALLY_UNITS, TallyKind};
use crate::settled::Ledger;
use crate::view::View;

/// How many buckets one scan step brings.
const BUCKETS_STEP: usize = 4096;

/// A number of items and their charged bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Items.
    pub items: u64,
    /// Charged bytes.
    pub bytes: u64,
}

/// What a collection holds at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Items that may be seen.
    pub live: Tally,
    /// Items that are dead and not yet purged.
    pub expired: Tally,
    /// When the next item expires, if nothing is written until then.
    pub next_expiry: Option<Millis>,
    /// The earliest moment at which something now dead had died; none if nothing is dead or it was buried.
    pub oldest_expired: Option<Millis>,
}

/// Sums as they are added up: a bucket may be negative for the moment, the whole never is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) items: i64,
    pub(crate) bytes: i64,
}

/// The living of a collection under a policy, by the calendar's kinds.
#[derive(Clone, Copy)]
pub(crate) struct Living {
    /// Those that inherit the default.
    pub(crate) written: Sum,
    /// Those with a ttl of their own.
    pub(crate) due: Sum,
    /// Those that say they never expire.
    pub(crate) never: Sum,
}

impl Living {
    pub(crate) fn all(self) -> Sum {
        self.written.plus(self.due).plus(self.never)
    }

    /// The sum of a kind.
    pub(crate) fn of(&mut self, kind: TallyKind) -> &mut Sum {
        match kind {
            TallyKind::Written => &mut self.written,
            TallyKind::Due => &mut self.due,
            TallyKind::Never => &mut self.never,
        }
    }
}

/// Documents that the calendar has among the living although a date has ended them: their buckets' kinds and seconds,
/// sorted.
#[derive(Default)]
pub(crate) struct Gone {
    places: Vec<(TallyKind, u64)>,
    sum: Sum,
}

impl Gone {
    /// How many of a kind stand in seconds from (inclusive) to (exclusive).
    fn between(&self, kind: TallyKind, from: u64, to: u64) -> i64 {
        let until = |second: u64| self.places.partition_point(|place| *place < (kind, second));
        i64::try_from(until(to).saturating_sub(until(from))).unwrap_or(i64::MAX)
    }
}

impl Sum {
    pub(crate) fn add(&mut self, value: &[u8]) -> Result<()> {
        let (items, bytes) = tally::decode(value)
            .ok_or_else(|| StoreError::Corrupt("a calendar bucket is too short".into()))?;
        (self.items, self.bytes) = tally::sum((self.items, self.bytes), (items, bytes));
        Ok(())
    }

    pub(crate) fn plus(self, other: Sum) -> Sum {
        Sum {
            items: self.items + other.items,
            bytes: self.bytes + other.bytes,
        }
    }

    pub(crate) fn minus(self, other: Sum) -> Sum {
        Sum {
            items: self.items - other.items,
            bytes: self.bytes - other.bytes,
        }
    }

    pub(crate) fn tally(self) -> Tally {
        Tally {
            items: u64::try_from(self.items).unwrap_or(0),
            bytes: u64::try_from(self.bytes).unwrap_or(0),
        }
    }
}

impl View {
    /// What a collection holds at this view's instant.
    ///
    /// # Errors
    /// When the engine fails or a bucket is damaged.
    pub async fn usage(&self, collection: &Collection) -> Result<Usage> {
        let (living, gone) = self
            .living_and_gone(collection, &self.lens(collection))
            .await?;
        let settled = Ledger::load(&self.snapshot, collection.cid).await?.settled;
        let expired = self.dead(collection, settled).await?.plus(gone.sum);
        Ok(Usage {
            live: living.all().tally(),
            expired: expired.tally(),
            next_expiry: self.next_expiry(collection, &living, &gone).await?,
            oldest_expired: if expired.items > 0 {
                self.oldest(collection, settled).await?
            } else {
                None
            },
        })
    }

    /// How many items a collection shows at this view's instant.
    ///
    /// # Errors
    /// When the engine fails or a bucket is damaged.
    pub async fn count(&self, collection: &Collection) -> Result<u64> {
        Ok(self.live(collection).await?.items)
    }

    /// The living alone: who asks for no more need not wait for what has died and what will.
    ///
    /// # Errors
    /// When the engine fails or a bucket is damaged.
    pub async fn live(&self, collection: &Collection) -> Result<Tally> {
        let living = self.living(collection, &self.lens(collection)).await?;
        Ok(living.all().tally())
    }

    /// About how many items lie in a collection, and how large they are: the living, and the dead that are not settled.
    pub(crate) async fn held(&self, collection: &Collection) -> Result<Tally> {
        let mut sum = Sum::default();
        for kind in [TallyKind::Written, TallyKind::Due, TallyKind::Never] {
            sum = sum.plus(self.total(collection, kind).await?);
        }
        Ok(sum.tally())
    }

    /// The living at this view's instant, through a lens of its time.
    pub(crate) async fn living(&self, collection: &Collection, lens: &Lens) -> Result<Living> {
        Ok(self.living_and_gone(collection, lens).await?.0)
    }

    /// The living, and whom dates have taken from among them.
    async fn living_and_gone(
        &self,
        collection: &Collection,
        lens: &Lens,
    ) -> Result<(Living, Gone)> {
        let policy = &lens.policy;
        let (written, due) = (policy.dead_written(self.now()), policy.dead_due(self.now()));
        let mut living = Living {
            written: self.after(collection, TallyKind::Written, written).await?,
            due: self.after(collection, TallyKind::Due, due).await?,
            never: self.total(collection, TallyKind::Never).await?,
        };
        let mut gone = Gone::default();
        let see = |item: &DatedItem| {
            let (kind, second) = entries::bucket(item.mark.ttl, item.mark.written);
            let sum = living.of(kind);
            *sum = sum.minus(item.sum());
            gone.places.push((kind, second));
            gone.sum = gone.sum.plus(item.sum());
            ControlFlow::Continue(())
        };
        self.dead_by_date(collection, lens, &DateCursor::new(), see)
            .await?;
        gone.places.sort_unstable();
        Ok((living, gone))
    }

    /// The dead at this view's instant that are not yet settled.
    async fn dead(&self, collection: &Collection, settled: Settled) -> Result<Sum> {
        let policy = &collection.policy;
        let mut sum = Sum::default();
        for (kind, mark, dead) in [
            (
                TallyKind::Written,
                settled.written,
                policy.dead_written(self.now()),
            ),
            (TallyKind::Due, settled.due, policy.dead_due(self.now())),
        ] {
            if let Some(Secs(dead)) = dead {
                let part = self.between(collection, kind, above(mark), dead.saturating_add(1));
                sum = sum.plus(part.await?);
            }
        }
        Ok(sum)
    }

    async fn total(&self, collection: &Collection, kind: TallyKind) -> Result<Sum> {
        self.sum(collection, kind, 2, 0, u64::MAX).await
    }

    /// The sum of a kind's buckets later than a second.
    async fn after(
        &self,
        collection: &Collection,
        kind: TallyKind,
        cut: Option<Secs>,
    ) -> Result<Sum> {
        match cut {
            None => self.total(collection, kind).await,
            Some(Secs(cut)) => {
                // Whole days to the end of time: no hours and seconds are looked for behind them.
                let [_, _, day] = TALLY_UNITS;
                let (from, to) = (cut.saturating_add(1), u64::MAX / day * day);
                self.between(collection, kind, from, to).await
            }
        }
    }

    /// The sum of a kind's seconds, from (inclusive) to (exclusive): by whole days and hours where they lie in between.
    pub(crate) async fn between(
        &self,
        collection: &Collection,
        kind: TallyKind,
        from: u64,
        to: u64,
    ) -> Result<Sum> {
        let [_, hour, day] = TALLY_UNITS;
        let (mut hours, mut days) = ((to, to), (to, to));
        if from.div_ceil(hour) < to / hour {
            hours = (from.div_ceil(hour) * hour, to / hour * hour);
            days = (hours.1, hours.1);
            if hours.0.div_ceil(day) < hours.1 / day {
                days = (hours.0.div_ceil(day) * day, hours.1 / day * day);
            }
        }
        let mut sum = Sum::default();
        for (unit, width, start, end) in [
            (0, 1, from, hours.0),
            (1, hour, hours.0, days.0),
            (2, day, days.0, days.1),
            (1, hour, days.1, hours.1),
            (0, 1, hours.1, to),
        ] {
            if start < end {
                let part = self.sum(collection, kind, unit, start / width, end / width);
                sum = sum.plus(part.await?);
            }
        }
        Ok(sum)
    }

    /// The sum of a kind's buckets of one width, from (inclusive) to (exclusive).
    async fn sum(
        &self,
        collection: &Collection,
        kind: TallyKind,
        unit: u8,
        from: u64,
        to: u64,
    ) -> Result<Sum> {
        let mut scan = self.buckets(collection, kind, unit, from, to);
        let mut sum = Sum::default();
        loop {
            let page = self.snapshot.scan(scan.clone()).await?;
            for (_, value) in &page.rows {
                sum.add(value)?;
            }
            match page.rows.last() {
                Some((key, _)) if page.more => scan.resume_after(key),
                _ => return Ok(sum),
            }
        }
    }

    fn buckets(
        &self,
        collection: &Collection,
        kind: TallyKind,
        unit: u8,
        from: u64,
        to: u64,
    ) -> Scan {
        Scan {
            space: Space::Tally,
            from: keys::tally(collection.cid, kind, unit, from),
            to: keys::tally(collection.cid, kind, unit, to),
            reverse: false,
            rows_max: BUCKETS_STEP,
            bytes_max: usize::MAX,
        }
    }

    /// The first seconds of a range, up to the one in which there are as many items as wanted: the last of them, and the sum.
    pub(crate) async fn fill(
        &self,
        collection: &Collection,
        kind: TallyKind,
        (from, last): (u64, u64),
        wanted: u64,
    ) -> Result<(u64, Sum)> {
        let mut scan = self.buckets(collection, kind, 0, from, last.saturating_add(1));
        let mut sum = Sum::default();
        loop {
            let page = self.snapshot.scan(scan.clone()).await?;
            for (key, value) in &page.rows {
                sum.add(value)?;
                if sum.tally().items >= wanted {
                    return Ok((bucket_of(key).unwrap_or(last), sum));
                }
            }
            match page.rows.last() {
                Some((key, _)) if page.more => scan.resume_after(key),
                _ => return Ok((last, sum)),
            }
        }
    }

    /// The keys of a range's seconds, if there are not more than so many.
    pub(crate) async fn few_seconds(
        &self,
        collection: &Collection,
        kind: TallyKind,
        (from, to): (u64, u64),
        few: usize,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let mut scan = self.buckets(collection, kind, 0, from, to);
        scan.rows_max = few;
        let page = self.snapshot.scan(scan).await?;
        let keys = || page.rows.iter().map(|(key, _)| key.to_vec()).collect();
        Ok((!page.more).then(keys))
    }

    /// The first bucket of a width in a range that holds an item which is not gone.
    async fn first(
        &self,
        collection: &Collection,
        (kind, gone): (TallyKind, &Gone),
        unit: u8,
        from: u64,
        to: u64,
    ) -> Result<Option<u64>> {
        let width = TALLY_UNITS.get(usize::from(unit)).copied().unwrap_or(1);
        let mut scan = self.buckets(collection, kind, unit, from, to);
        loop {
            let page = self.snapshot.scan(scan.clone()).await?;
            for (key, value) in &page.rows {
                let mut sum = Sum::default();
                sum.add(value)?;
                let Some(bucket) = bucket_of(key) else {
                    continue;
                };
                let start = bucket.saturating_mul(width);
                if sum.items > gone.between(kind, start, start.saturating_add(width)) {
                    return Ok(Some(bucket));
                }
            }
            match page.rows.last() {
                Some((key, _)) if page.more => scan.resume_after(key),
                _ => return Ok(None),
            }
        }
    }

    /// The first second at or after one in which a kind's items stand which are not gone.
    async fn first_second(
        &self,
        collection: &Collection,
        kind: (TallyKind, &Gone),
        from: u64,
    ) -> Result<Option<u64>> {
        let [_, hour, day] = TALLY_UNITS;
        let next_hour = from / hour + 1;
        if let Some(second) = self
            .first(collection, kind, 0, from, next_hour.saturating_mul(hour))
            .await?
        {
            return Ok(Some(second));
        }
        let next_day = from / day + 1;
        let mut in_hour = self
            .first(
                collection,
                kind,
                1,
                next_hour,
                next_day.saturating_mul(day / hour),
            )
            .await?;
        if in_hour.is_none() {
            let Some(in_day) = self.first(collection, kind, 2, next_day, u64::MAX).await? else {
                return Ok(None);
            };
            let first_hour = in_day.saturating_mul(day / hour);
            in_hour = self
                .first(
                    collection,
                    kind,
                    1,
                    first_hour,
                    first_hour.saturating_add(day / hour),
                )
                .await?;
        }
        let Some(in_hour) = in_hour else {
            return Ok(None);
        };
        let second = in_hour.saturating_mul(hour);
        self.first(collection, kind, 0, second, second.saturating_add(hour))
            .await
    }

    async fn next_expiry(
        &self,
        collection: &Collection,
        living: &Living,
        gone: &Gone,
    ) -> Result<Option<Millis>> {
        let written = match collection.policy.setting {
            Setting::OnWithDefault(life) if living.written.items > 0 => {
                let from = above(collection.policy.dead_written(self.now()));
                let second = self
                    .first_second(collection, (TallyKind::Written, gone), from)
                    .await?;
                second.map(|second| Secs(second).plus(life).millis())
            }
            Setting::OnWithDefault(_) | Setting::On | Setting::Off => None,
        };
        let due = match collection.policy.setting {
            Setting::On | Setting::OnWithDefault(_) if living.due.items > 0 => {
                let from = above(collection.policy.dead_due(self.now()));
                self.first_second(collection, (TallyKind::Due, gone), from)
                    .await?
                    .map(|second| Secs(second).millis())
            }
            Setting::On | Setting::OnWithDefault(_) | Setting::Off => None,
        };
        let dated = self.next_date_end(collection).await?;
        Ok([written, due, dated].into_iter().flatten().min())
    }

    /// When the longest dead of the unpurged died.
    async fn oldest(&self, collection: &Collection, settled: Settled) -> Result<Option<Millis>> {
        let all = Gone::default();
        let due = self
            .first_second(collection, (TallyKind::Due, &all), above(settled.due))
            .await?;
        let due = due.filter(|second| {
            collection
                .policy
                .dead_due(self.now())
                .is_some_and(|dead| Secs(*second) <= dead)
        });
        let written = self
            .first_second(
                collection,
                (TallyKind::Written, &all),
                above(settled.written),
            )
            .await?;
        let written = written.filter(|second| {
            collection
                .policy
                .dead_written(self.now())
                .is_some_and(|dead| Secs(*second) <= dead)
        });
        let written = match collection.policy.setting {
            Setting::OnWithDefault(life) => written.map(|second| Secs(second).plus(life).millis()),
            Setting::Off | Setting::On => written.map(|second| Secs(second).millis()),
        };
        let due = due.map(|second| Secs(second).millis());
        let dated = self.oldest_date_end(collection).await?;
        Ok([written, due, dated].into_iter().flatten().min())
    }
}

/// The first second above a mark.
pub(crate) fn above(mark: Option<Secs>) -> u64 {
    mark.map_or(0, |mark| mark.0.saturating_add(1))
}

/// The number of the bucket that a key names.
pub(crate) fn bucket_of(key: &[u8]) -> Option<u64> {
    let bucket = key.get(6..)?.first_chunk::<8>()?;
    Some(u64::from_be_bytes(*bucket))
}
