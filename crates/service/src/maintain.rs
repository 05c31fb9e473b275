//! What the server does between requests: it samples the clock, keeps its floor durable, tells expiries to those who follow
//! them, and removes the dead and the versions whose retention is over.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lapsedb_record::clock::ClockEvent;
use lapsedb_record::{Millis, Setting};
use lapsedb_store::{Collection, CollectionId, Purged, StoreError, View};
use parking_lot::Mutex;

use crate::charge;
use crate::error::Result;
use crate::service::Service;
use crate::sessions::SESSION_SECONDS;

/// How often the clock's floor is made durable while only readers come, in ticks.
const FLOOR_TICKS: u64 = 5;
/// How often notes of sessions that were not used for long are removed, in ticks.
const SESSION_SWEEP_TICKS: u64 = 60;
/// How long the calendar of a collection that is being written to is not asked again, in milliseconds.
const RECHECK_MS: u64 = 5000;
/// Records removed from one collection in one tick when no throughput is provisioned.
const PURGE_ITEMS_PER_TICK: u64 = 2000;

/// Expiries of one collection that are told in one tick.
const TELL_PER_TICK: u64 = 20_000;

/// What the maintainer remembers from tick to tick. All of it can be lost: it only saves work.
#[derive(Default)]
pub(crate) struct Maintenance {
    /// Whether a request came since the floor was last made durable.
    pub(crate) asked: AtomicBool,
    ticks: AtomicU64,
    wakes: Mutex<HashMap<CollectionId, Wake>>,
    /// By settings, when a collection's versions are worth a look.
    trims: Mutex<HashMap<CollectionId, (u64, Millis)>>,
    purged_items: AtomicU64,
    purged_bytes: AtomicU64,
}

/// When a collection's calendar is worth another look.
#[derive(Clone, Copy)]
struct Wake {
    /// Its settings then.
    settings: u64,
    /// The store's log then.
    lsn: u64,
    /// Not before, if nothing is written.
    at: Millis,
    /// Not before, if something is.
    recheck: Millis,
}

/// Figures over all collections.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauges {
    /// Items that may be seen.
    pub items_live: u64,
    /// Items that are dead and still stored.
    pub items_expired: u64,
    /// How long the oldest of them has been dead, in seconds.
    pub purge_lag_secs: u64,
    /// Items removed since the start.
    pub purged_items: u64,
    /// Their bytes.
    pub purged_bytes: u64,
    /// Whether the clock is suspect.
    pub clock_suspect: bool,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

impl Service {
    /// One tick, about once a second. Says what has happened to the clock.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn tick(&self) -> Result<Vec<ClockEvent>> {
        let events = self.clock().sample();
        let maintenance = self.maintenance();
        let ticks = maintenance.ticks.fetch_add(1, Ordering::Relaxed) + 1;
        self.documents_state().sweep();
        if ticks.is_multiple_of(SESSION_SWEEP_TICKS) {
            let kept = SESSION_SECONDS.saturating_mul(1000);
            let before = Millis(self.clock().now().0.saturating_sub(kept));
            match self.store().forget_notes(before).await {
                // Somebody has just used one of them: the next time will do.
                Ok(_) | Err(StoreError::Retry) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if ticks.is_multiple_of(FLOOR_TICKS) && maintenance.asked.swap(false, Ordering::Relaxed) {
            self.persist_clock().await?;
        }
        self.keep_versions_true().await?;
        if self.config().purge {
            self.purge_due().await?;
        }
        Ok(events)
    }

    /// Where versions are kept, tells what has expired, and removes versions that are kept no longer.
    async fn keep_versions_true(&self) -> Result<()> {
        let view = self.store().view().await?;
        for collection in view.catalog().all_collections() {
            if !collection.history.kept {
                continue;
            }
            if view.expiries_due(&collection).await? {
                let told = self.store().tell_expiries(collection.cid, TELL_PER_TICK);
                told.await?;
            }
            let trims = &self.maintenance().trims;
            let next = trims.lock().get(&collection.cid).copied();
            let version = collection.version;
            if next.is_none_or(|(then, next)| then != version || next <= view.now()) {
                match self.store().trim_versions(&collection).await {
                    Ok(next) => {
                        trims.lock().insert(collection.cid, (version, next));
                    }
                    // Somebody was faster; the next tick looks again.
                    Err(StoreError::Retry) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Removes what is dead and past its grace, as far as the leftover budget goes.
    async fn purge_due(&self) -> Result<()> {
        let collections = self.store().view().await?.catalog().all_collections();
        for collection in collections {
            let view = self.store().view().await?;
            if !self.worth_a_look(&view, &collection) {
                continue;
            }
            let room = self.purge_room(&view, &collection);
            let lsn = view.lsn();
            // No view is kept meanwhile: it would hold back what may go.
            drop(view);
            if room > 0 {
                let purged = self.store().purge(&collection, self.grace(), room).await?;
                self.count_purged(purged);
            }
            self.plan_wake(lsn, &collection).await?;
        }
        Ok(())
    }

    pub(crate) fn grace(&self) -> Millis {
        Millis(self.config().purge_grace.saturating_mul(1000))
    }

    pub(crate) fn count_purged(&self, purged: Purged) {
        self.maintenance()
            .purged_items
            .fetch_add(purged.items, Ordering::Relaxed);
        self.maintenance()
            .purged_bytes
            .fetch_add(purged.bytes, Ordering::Relaxed);
    }

    fn worth_a_look(&self, view: &View, collection: &Collection) -> bool {
        let buried =
            collection.policy.buried_written.is_some() || collection.policy.buried_due.is_some();
        if collection.policy.setting == Setting::Off && !buried {
            return false;
        }
        match self.maintenance().wakes.lock().get(&collection.cid) {
            Some(wake) if wake.settings == collection.lsn => {
                view.now() >= wake.at || (wake.lsn != view.lsn() && view.now() >= wake.recheck)
            }
            Some(_) | None => true,
        }
    }

    /// How many records may go now: the request units that the last second left over, at what a delete would cost.
    fn purge_room(&self, view: &View, collection: &Collection) -> u64 {
        match self.throughputs().left_over(view, collection) {
            None => PURGE_ITEMS_PER_TICK,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a float cast saturates"
            )]
            Some(left) => (left / charge::delete(1024)).max(0.0) as u64,
        }
    }

    /// Asks the calendar when the collection is worth the next look.
    async fn plan_wake(&self, lsn: u64, collection: &Collection) -> Result<()> {
        let view = self.store().view().await?;
        let usage = view.usage(collection).await?;
        let at = if usage.expired.items > 0 {
            // What is dead waits for its grace or for budget.
            view.now().plus(Millis(1000))
        } else {
            usage
                .next_expiry
                .map_or(Millis(u64::MAX), |expiry| expiry.plus(self.grace()))
        };
        let recheck = view.now().plus(Millis(RECHECK_MS));
        let wake = Wake {
            settings: collection.lsn,
            lsn,
            at,
            recheck,
        };
        self.maintenance().wakes.lock().insert(collection.cid, wake);
        Ok(())
    }

    /// Figures over all collections, for the metrics page.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn gauges(&self) -> Result<Gauges> {
        let view = self.store().view().await?;
        let mut gauges = Gauges {
            purged_items: self.maintenance().purged_items.load(Ordering::Relaxed),
            purged_bytes: self.maintenance().purged_bytes.load(Ordering::Relaxed),
            clock_suspect: self.clock().suspect(),
            disk_bytes: self.disk_bytes(),
            ..Gauges::default()
        };
        for collection in view.catalog().all_collections() {
            let usage = view.usage(&collection).await?;
            gauges.items_live += usage.live.items;
            gauges.items_expired += usage.expired.items;
            let lag = usage
                .oldest_expired
                .map_or(0, |since| view.now().0.saturating_sub(since.0) / 1000);
            gauges.purge_lag_secs = gauges.purge_lag_secs.max(lag);
        }
        Ok(gauges)
    }
}
