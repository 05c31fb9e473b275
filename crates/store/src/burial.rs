//! Purge by burial: the dead leave the calendar all at once, and the engine drops their bytes when it next rewrites them.
//!
//! A collection's marks are moved forward in one commit with its calendar, and shown to the engine's judge only once that
//! commit is durable. From then on nobody looks for what lies below them: the calendar is read from behind the marks, whoever
//! takes over a dead id does not count it off again, and readers judge an entry by its own bytes.

use std::sync::Arc;
use std::time::Duration;

use lapsedb_kv::{Batch, Engine, Expect, Space, Template};
use lapsedb_record::{Millis, Secs};

use crate::Store;
use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, MetaKind, TALLY_UNITS, TallyKind};
use crate::purger::Purged;
use crate::settled::{self, Ledger};
use crate::usage::{Sum, Tally, above};
use crate::view::View;
use crate::views::Reach;

/// Up to so many seconds are taken from the calendar one by one; more as a range. Many small ranges would slow its readers.
const SECONDS_ONE_BY_ONE_MAX: usize = 256;
/// From so many items on, the heads of the queues are removed as a range with them; fewer wait for the engine.
const RANGE_ITEMS_MIN: i64 = 1000;
/// How often one call begins again because somebody was faster.
const TRIES_MAX: usize = 16;

/// How often, and how long after each other, it looks whether old views are gone.
const LOOKS_MAX: usize = 10;
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What one kind of a collection's items gives up.
struct Part {
    kind: TallyKind,
    /// The first second above the old mark.
    from: u64,
    /// The new mark.
    mark: u64,
    sum: Sum,
}

impl Store {
    /// Whether the dead of a collection are settled and left to the engine, or removed one by one.
    #[must_use]
    pub fn settles(&self, _collection: &Collection) -> bool {
        self.engine().caps().judged
    }

    /// Settles what was dead before the grace: at least some of it, and about `items_max` items at most.
    pub(crate) async fn bury(
        &self,
        cid: CollectionId,
        grace: Millis,
        items_max: u64,
    ) -> Result<Purged> {
        let mut purged = Purged::default();
        let mut tries = 0;
        while purged.items < items_max && tries < TRIES_MAX && !self.clock.purge_horizon_held() {
            match self.bury_some(cid, grace, items_max - purged.items).await {
                Ok(Some(step)) => {
                    purged.items += step.items;
                    purged.bytes += step.bytes;
                }
                Ok(None) => break,
                // Settings have changed, or somebody else settled: look again.
                Err(StoreError::Retry) => tries += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(purged)
    }

    /// How far back the open views reach. Waits a moment for those that would hold the marks back: most are short.
    async fn reach(&self, grace: Millis) -> Result<Reach> {
        let mut reach = self.views.reach(self.engine()).await?;
        for _ in 0..LOOKS_MAX {
            if reach.now.plus(grace) >= self.clock.now() {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
            reach = self.views.reach(self.engine()).await?;
        }
        Ok(reach)
    }

    async fn bury_some(
        &self,
        cid: CollectionId,
        grace: Millis,
        room: u64,
    ) -> Result<Option<Tally>> {
        let reach = self.reach(grace).await?;
        let view = self.view().await?;
        let Some(collection) = view.catalog().collection_numbered(cid).cloned() else {
            return Ok(None);
        };
        // The judge knows no snapshots: nothing goes that was alive for a view still open.
        let horizon = Millis(view.now().0.saturating_sub(grace.0)).min(reach.now);
        // What a change of settings has buried is dead since that change: it too gets its grace. And no view may be open
        // that still judges by the settings before it.
        if collection.written > horizon.secs() || reach.lsn < collection.version {
            return Ok(None);
        }
        let ledger = Ledger::load(&view.snapshot, cid).await?;
        let parts = parts(&view, &collection, &ledger, horizon, room).await?;
        // Told first, dropped later: a reader of all versions learns of every end, and needs the record for it.
        if !view.told_up_to(&collection, horizon).await? {
            return Ok(None);
        }
        let sum = parts
            .iter()
            .fold(Sum::default(), |sum, part| sum.plus(part.sum));
        if parts.is_empty() {
            return Ok(None);
        }
        let next = followed(&ledger, &parts, sum, view.now().secs());
        let batch = settling(&view, &collection, &ledger, &next, &parts).await?;
        // Nothing of this view is needed any more; it must not hold back the next look.
        drop(view);
        self.engine().commit(batch).await?;
        // Dropped bytes never come back, so what allows to drop them must not be lost either.
        self.engine().sync().await?;
        self.marks.show(cid, next.settled);
        Ok(Some(sum.tally()))
    }
}

/// What may be settled, of each kind.
async fn parts(
    view: &View,
    collection: &Collection,
    ledger: &Ledger,
    horizon: Millis,
    mut room: u64,
) -> Result<Vec<Part>> {
    let policy = &collection.policy;
    let kinds = [
        (TallyKind::Due, ledger.settled.due, policy.dead_due(horizon)),
        (
            TallyKind::Written,
            ledger.settled.written,
            policy.dead_written(horizon),
        ),
    ];
    let mut parts = Vec::new();
    for (kind, old, dead) in kinds {
        let from = above(old);
        let Some(Secs(dead)) = dead.filter(|dead| dead.0 >= from && room > 0) else {
            continue;
        };
        let mut sum = view.between(collection, kind, from, dead + 1).await?;
        let mut mark = dead;
        if sum.tally().items > room {
            (mark, sum) = view.fill(collection, kind, (from, dead), room).await?;
        }
        if sum != Sum::default() {
            room = room.saturating_sub(sum.tally().items);
            parts.push(Part {
                kind,
                from,
                mark,
                sum,
            });
        }
    }
    Ok(parts)
}

/// The ledger after some parts are settled.
fn followed(old: &Ledger, parts: &[Part], sum: Sum, now: Secs) -> Ledger {
    let mut next = *old;
    for part in parts {
        let mark = Some(Secs(part.mark));
        match part.kind {
            TallyKind::Written => next.settled.written = mark,
            TallyKind::Due => next.settled.due = mark,
            TallyKind::Never => {}
        }
    }
    if old.unswept == Tally::default() {
        next.since = now;
    }
    let sum = sum.tally();
    next.unswept.items = next.unswept.items.saturating_add(sum.items);
    next.unswept.bytes = next.unswept.bytes.saturating_add(sum.bytes);
    next
}

/// The one commit that moves the marks and clears the calendar up to them.
async fn settling(
    view: &View,
    collection: &Arc<Collection>,
    old: &Ledger,
    next: &Ledger,
    parts: &[Part],
) -> Result<Batch> {
    let cid = collection.cid;
    let mut batch = Batch::new();
    batch.check(
        Space::Meta,
        keys::meta_numbered(MetaKind::Collection, cid.0),
        Expect::StartsWith(collection.version.to_be_bytes().to_vec()),
    );
    batch.check(Space::Meta, settled::key(cid), old.unchanged());
    batch.put(
        Space::Meta,
        Template::from(settled::key(cid)),
        Template::from(next.bytes()),
    );
    for part in parts {
        clear_seconds(&mut batch, view, collection, part).await?;
        for (unit, width) in (1..).zip(TALLY_UNITS.into_iter().skip(1)) {
            clear_wide(&mut batch, view, collection, part, (unit, width)).await?;
        }
        if part.sum.items >= RANGE_ITEMS_MIN {
            clear_queue(&mut batch, view, collection, part).await?;
        }
    }
    Ok(batch)
}

async fn clear_seconds(
    batch: &mut Batch,
    view: &View,
    collection: &Collection,
    part: &Part,
) -> Result<()> {
    let range = (part.from, part.mark.saturating_add(1));
    let few = view
        .few_seconds(collection, part.kind, range, SECONDS_ONE_BY_ONE_MAX)
        .await?;
    match few {
        Some(keys) => {
            for key in keys {
                batch.delete(Space::Tally, key);
            }
        }
        None => {
            let key = |second| keys::tally(collection.cid, part.kind, 0, second);
            batch.delete_range(Space::Tally, key(range.0), key(range.1));
        }
    }
    Ok(())
}

/// Hours and days: those that lie below the mark go. Of the one that the mark stands in, what lies below is taken off. Nobody
/// reads that one as a whole before it goes too, so a re-creation that comes in between does no harm.
async fn clear_wide(
    batch: &mut Batch,
    view: &View,
    collection: &Collection,
    part: &Part,
    (unit, width): (u8, u64),
) -> Result<()> {
    let key = |bucket| keys::tally(collection.cid, part.kind, unit, bucket);
    let end = part.mark.saturating_add(1);
    let (first, open) = (part.from / width, end / width);
    if first < open {
        batch.delete_range(Space::Tally, key(first), key(open));
    }
    let from = part.from.max(open * width);
    if from < end {
        let sum = view.between(collection, part.kind, from, end).await?;
        if sum != Sum::default() {
            batch.add(key(open), -sum.items, -sum.bytes);
        }
    }
    Ok(())
}

/// Both queues are ordered by expiry, so all that is settled stands at their heads.
async fn clear_queue(
    batch: &mut Batch,
    view: &View,
    collection: &Collection,
    part: &Part,
) -> Result<()> {
    let cid = collection.cid;
    let end = Secs(part.mark.saturating_add(1));
    match part.kind {
        TallyKind::Due => {
            let (from, to) = (keys::due(cid, Secs(part.from), 0), keys::due(cid, end, 0));
            batch.delete_range(Space::Due, from, to);
        }
        TallyKind::Written => {
            let last = view.lsn_before(collection, end).await?;
            let from = keys::log_prefix(cid, 0);
            let mut to = from.clone();
            to.extend_from_slice(&last.saturating_add(1).to_be_bytes());
            batch.delete_range(Space::Log, from, to);
        }
        TallyKind::Never => {}
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
