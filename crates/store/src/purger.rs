//! Removes what is already invisible; never decides visibility.
//!
//! Where the engine drops the dead by itself they are settled (see `burial.rs`); elsewhere they are removed one by one. That
//! works from the heads of the two expiry queues: the log of what inherits, and the due index. Everything that belongs
//! to a dead record goes in one transaction, which asks the rule again.

use std::ops::ControlFlow;
use std::sync::Arc;

use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::{Clock, Lens, Mark, Millis, Secs, Settled};

use crate::Store;
use crate::catalog::Collection;
use crate::dated::{DateCursor, DatedItem};
use crate::error::{Result, StoreError};
use crate::keys::{self, ItemKey};
use crate::settled::Ledger;
use crate::txn::Txn;
use crate::view::View;

/// Records removed in one transaction.
const PURGE_BATCH_ITEMS: usize = 200;

/// What a purge has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Items.
    pub items: u64,
    /// Their charged bytes.
    pub bytes: u64,
}

impl Store {
    /// Removes about `items_max` dead records whose grace has passed.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn purge(
        &self,
        collection: &Arc<Collection>,
        grace: Millis,
        items_max: u64,
    ) -> Result<Purged> {
        let mut purged = self.purge_dated(collection, grace, items_max).await?;
        let room = items_max.saturating_sub(purged.items);
        let rest = self.purge_by_ttl(collection, grace, room).await?;
        purged.items += rest.items;
        purged.bytes += rest.bytes;
        Ok(purged)
    }

    /// Removes up to `items_max` records that a date has ended and whose grace has passed. A date says nothing to the engine's
    /// judge: they go one by one everywhere.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn purge_dated(
        &self,
        collection: &Arc<Collection>,
        grace: Millis,
        items_max: u64,
    ) -> Result<Purged> {
        if collection.indexes.date_rules().all().is_empty() {
            return Ok(Purged::default());
        }
        self.tell_expiries(collection.cid, items_max).await?;
        self.remove_dead(Ended::ByDate, collection, grace, items_max)
            .await
    }

    /// Removes up to `items_max` records that a date has ended, without any grace: where versions are kept, that is how they
    /// are told. The dates are the client's and come in any order, so no place in a queue could part the told from the untold.
    pub(crate) async fn tell_dated(
        &self,
        collection: &Arc<Collection>,
        items_max: u64,
    ) -> Result<u64> {
        if collection.indexes.date_rules().all().is_empty() {
            return Ok(0);
        }
        let removed = self.remove_dead(Ended::ByDate, collection, Millis(0), items_max);
        Ok(removed.await?.items)
    }

    /// Removes about `items_max` records that their ttl has ended and whose grace has passed.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn purge_by_ttl(
        &self,
        collection: &Arc<Collection>,
        grace: Millis,
        items_max: u64,
    ) -> Result<Purged> {
        // What goes unseen later is told now, in the order of death.
        self.tell_expiries(collection.cid, u64::MAX).await?;
        if self.settles(collection) {
            return self.bury(collection.cid, grace, items_max).await;
        }
        self.remove_dead(Ended::ByTtl, collection, grace, items_max)
            .await
    }

    /// Removes dead records one by one.
    async fn remove_dead(
        &self,
        ended: Ended,
        collection: &Arc<Collection>,
        grace: Millis,
        items_max: u64,
    ) -> Result<Purged> {
        let mut purged = Purged::default();
        // What was removed leaves its traces in the engine for a while: the next step must not walk through them again.
        let mut cursor = DateCursor::new();
        while purged.items < items_max && !self.clock.purge_horizon_held() {
            let view = self.view().await?;
            let Some(collection) = view.catalog().collection_numbered(collection.cid).cloned()
            else {
                break;
            };
            let horizon = Millis(view.now().0.saturating_sub(grace.0));
            // What a change of settings has buried is dead since that change: it too gets its grace.
            let since = collection.indexes.based_since(view.now().secs());
            if since.max(Some(collection.written)) > Some(horizon.secs()) {
                break;
            }
            let room = usize::try_from(items_max - purged.items)
                .unwrap_or(usize::MAX)
                .min(PURGE_BATCH_ITEMS);
            let settled = Ledger::load(&view.snapshot, collection.cid).await?.settled;
            let mut next = cursor.clone();
            let keys = match ended {
                Ended::ByDate => {
                    let lens = Lens {
                        now: horizon,
                        ..view.lens(&collection)
                    };
                    dead_by_date(&view, &collection, (settled, &lens), &mut next, room).await?
                }
                Ended::ByTtl => dead_keys(&view, &collection, settled, horizon, room).await?,
            };
            if keys.is_empty() {
                match ended {
                    Ended::ByDate => self.forget_burials(&view, &collection).await?,
                    Ended::ByTtl => {}
                }
                break;
            }
            match remove(self, &view, &collection, &keys).await {
                // Queue and records were read from one snapshot: looking again would find the same for ever.
                Ok(step) if step.items == 0 => {
                    return Err(StoreError::Corrupt(
                        "an expiry queue names items that are not dead".into(),
                    ));
                }
                Ok(step) => {
                    cursor = next;
                    purged.items += step.items;
                    purged.bytes += step.bytes;
                }
                // Somebody wrote one of them meanwhile: look again.
                Err(StoreError::Retry) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(purged)
    }
}

impl View {
    /// Whether a date has ended a document that is still stored.
    pub(crate) async fn dated_due(&self, collection: &Collection) -> Result<bool> {
        if collection.indexes.date_rules().all().is_empty() {
            return Ok(false);
        }
        let settled = Ledger::load(&self.snapshot, collection.cid).await?.settled;
        let lens = self.lens(collection);
        let mut cursor = DateCursor::new();
        let dead = dead_by_date(self, collection, (settled, &lens), &mut cursor, 1);
        Ok(!dead.await?.is_empty())
    }
}

/// What has ended a document.
#[derive(Clone, Copy)]
enum Ended {
    /// A date, while its ttl would let it live or has not been settled yet.
    ByDate,
    /// Its ttl.
    ByTtl,
}

async fn remove(
    store: &Store,
    view: &View,
    collection: &Arc<Collection>,
    dead: &[ItemKey],
) -> Result<Purged> {
    let mut txn = Txn::new(view, collection);
    let mut step = Purged::default();
    for key in dead {
        let (partition, _) = keys::address_of(collection, key)
            .ok_or_else(|| StoreError::Corrupt("an item's key cannot be read".into()))?;
        if let Some(charged) = txn.clear_dead(key, &partition).await? {
            step.items += 1;
            step.bytes += u64::from(charged);
        }
    }
    if step.items > 0 {
        // What a transaction is about to write anew can be removed another time.
        txn.wait_until(Some(Clock::monotonic()));
        txn.commit(store).await?;
    }
    Ok(step)
}

/// Keys of records that a date had ended at the horizon, behind a cursor, which is moved.
async fn dead_by_date(
    view: &View,
    collection: &Collection,
    (settled, at_horizon): (Settled, &Lens),
    cursor: &mut DateCursor,
    room: usize,
) -> Result<Vec<ItemKey>> {
    let mut dead = Vec::new();
    let mut passed = cursor.clone();
    let see = |item: &DatedItem| {
        item.pass(&mut passed);
        // What is settled is the engine's to drop, and its record may be gone already.
        if !settled.covers(item.mark.ttl, item.mark.written) {
            dead.push(item.key(collection.cid));
        }
        match dead.len() < room {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    view.dead_by_date(collection, at_horizon, cursor, see)
        .await?;
    *cursor = passed;
    Ok(dead)
}

/// Keys of records that were dead by their ttl at the horizon, from the heads of both queues.
async fn dead_keys(
    view: &View,
    collection: &Collection,
    settled: Settled,
    horizon: Millis,
    room: usize,
) -> Result<Vec<ItemKey>> {
    let cid = collection.cid;
    let mut dead = Vec::new();
    if let Some(cut) = collection.policy.dead_due(horizon) {
        // What is settled is the engine's to drop, and no longer counted.
        let first = settled.due.map_or(Secs(0), |mark| mark.plus(Secs(1)));
        let from = keys::due(cid, first, 0);
        let to = keys::due(cid, cut.plus(Secs(1)), 0);
        let scan = Scan {
            space: Space::Due,
            from,
            to,
            reverse: false,
            rows_max: room,
            bytes_max: usize::MAX,
        };
        for (_, value) in view.snapshot.scan(scan).await?.rows {
            let (_, tail) = Mark::split(&value)?;
            dead.push(ItemKey::from_tail(cid, tail));
        }
    }
    if let Some(cut) = collection.policy.dead_written(horizon)
        && dead.len() < room
    {
        let mut scan = Scan::prefix(Space::Log, &keys::log_prefix(cid, 0));
        if let Some(mark) = settled.written {
            let last = view.lsn_before(collection, mark.plus(Secs(1))).await?;
            scan.from
                .extend_from_slice(&last.saturating_add(1).to_be_bytes());
        }
        scan.rows_max = room - dead.len();
        for (_, value) in view.snapshot.scan(scan).await?.rows {
            let (mark, rest) = Mark::split(&value)?;
            if mark.written > cut {
                break;
            }
            dead.push(ItemKey::from_tail(cid, keys::log_tail(rest)));
        }
    }
    Ok(dead)
}
