//! Gives the disk space of what was purged back, a stretch at a time, and gives way to requests.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::time::Duration;

use lapsedb_record::{Clock, Millis};
use lapsedb_store::{CollectionId, StoreError, Upkeep};

use crate::background::Piece;
use crate::error::Result;
use crate::purge::deletes_for;
use crate::service::Service;

/// How long it rests when there is nothing to do, or no budget for it.
const REST: Duration = Duration::from_secs(1);
/// How long it rests after one that failed.
const REST_FAILED: Duration = Duration::from_secs(60);
/// How long it rests after a stretch that only a nearly full disk has allowed.
const REST_PRESSED: Duration = Duration::from_secs(10);
/// While requests come, it rests so many times as long as the stretch took; otherwise this part of it.
const RESTS_BUSY: u32 = 4;
const RESTS_IDLE_PART: u32 = 4;
/// The longest rest between two stretches.
const REST_MAX: Duration = Duration::from_secs(30);
/// Collections that are weighed before it rests, so that the one that is worth it is found soon among many.
const WEIGHED_AT_ONCE_MAX: usize = 100;
/// What was not worth sweeping is looked at again after this, or when more is purged.
const LOOK_AGAIN_MS: u64 = 24 * 60 * 60 * 1000;

/// What the sweeper remembers. All of it can be lost.
#[derive(Default)]
pub(crate) struct Sweeper {
    /// Whether the store was looked through for what an earlier process has left.
    looked: bool,
    /// The collection being swept.
    current: Option<CollectionId>,
    /// To be swept whether or not it is worth it.
    asked: Vec<CollectionId>,
    /// Those of which something was purged, and when to look whether it is enough to be worth it.
    candidates: BTreeSet<(Millis, CollectionId)>,
    /// Where each of them stands there.
    planned: HashMap<CollectionId, Millis>,
}

impl Sweeper {
    fn plan(&mut self, cid: CollectionId, at: Millis) {
        if let Some(before) = self.planned.insert(cid, at) {
            self.candidates.remove(&(before, cid));
        }
        self.candidates.insert((at, cid));
    }

    /// Takes out one whose time has come.
    fn take_due(&mut self, now: Millis) -> Option<CollectionId> {
        let (_, cid) = *self.candidates.first().filter(|(at, _)| *at <= now)?;
        self.candidates.pop_first();
        self.planned.remove(&cid);
        Some(cid)
    }
}

impl Service {
    /// Something of a collection was purged: perhaps it is worth sweeping.
    pub(crate) fn may_sweep(&self, cid: CollectionId) {
        let mut sweeper = self.maintenance().sweeper.lock();
        sweeper.plan(cid, Millis(0));
    }

    /// Sweeps a collection as soon as possible, however little is to be had.
    pub(crate) fn ask_to_sweep(&self, cid: CollectionId) {
        let mut sweeper = self.maintenance().sweeper.lock();
        if !sweeper.asked.contains(&cid) {
            sweeper.asked.push(cid);
        }
    }

    /// Rewrites one stretch of what is worth it, if the budget allows. Says how long to rest before the next.
    pub async fn sweep_some(&self) -> Duration {
        let background = &self.maintenance().background;
        let swept = self.sweep_next();
        let rest = background.run(Piece::RewriteNext, swept).await;
        rest.unwrap_or(REST_FAILED)
    }

    async fn sweep_next(&self) -> Result<Duration> {
        let Some((cid, asked)) = self.next_to_sweep().await? else {
            return Ok(REST);
        };
        let mut pressed = false;
        if !asked {
            let view = self.store().view().await?;
            let left = view
                .catalog()
                .collection_numbered(cid)
                .and_then(|collection| self.throughputs().left_over(&view, collection));
            if left.is_some_and(|(_, left)| deletes_for(left) == 0) {
                pressed = self.store().disk_is_nearly_full();
                if !pressed {
                    return Ok(REST);
                }
            }
        }
        let requests = self.maintenance().requests.load(Ordering::Relaxed);
        let start = Clock::monotonic();
        let background = &self.maintenance().background;
        let swept = self.store().sweep(cid);
        let done = background.run(Piece::Rewrite(cid), swept).await;
        let took = Clock::monotonic().saturating_duration_since(start);
        // What fails here costs disk space and nothing else; it is not tried again at once.
        if done != Some(false) {
            let mut sweeper = self.maintenance().sweeper.lock();
            sweeper.current = None;
            sweeper.asked.retain(|other| *other != cid);
        }
        if done == Some(true) {
            tracing::info!(collection = cid.0, "what was purged has left the disk");
        }
        if pressed {
            return Ok(REST_PRESSED);
        }
        let busy = requests != self.maintenance().requests.load(Ordering::Relaxed);
        let rest = if busy {
            took.saturating_mul(RESTS_BUSY)
        } else {
            took / RESTS_IDLE_PART
        };
        Ok(rest.min(REST_MAX))
    }

    /// The collection to sweep, and whether somebody asked for it.
    async fn next_to_sweep(&self) -> Result<Option<(CollectionId, bool)>> {
        if let Some(asked) = self.maintenance().sweeper.lock().asked.first() {
            return Ok(Some((*asked, true)));
        }
        if !self.purges() {
            return Ok(None);
        }
        if let Some(current) = self.maintenance().sweeper.lock().current {
            return Ok(Some((current, false)));
        }
        self.look_through().await?;
        for _ in 0..WEIGHED_AT_ONCE_MAX {
            let now = self.clock().now();
            let candidate = self.maintenance().sweeper.lock().take_due(now);
            let Some(cid) = candidate else {
                return Ok(None);
            };
            if self.weigh(cid).await? {
                return Ok(Some((cid, false)));
            }
        }
        Ok(None)
    }

    /// Whether a collection is worth sweeping; if not, it is looked at again later.
    async fn weigh(&self, cid: CollectionId) -> Result<bool> {
        let view = self.store().view().await?;
        let Some(collection) = view.catalog().collection_numbered(cid).cloned() else {
            return Ok(false);
        };
        let background = &self.maintenance().background;
        let worth_it = self.store().sweep_is_worth_it(&view, &collection);
        let worth_it = background.run(Piece::WeighRewrite(cid), worth_it).await;
        let worth_it = worth_it.unwrap_or(false);
        let mut sweeper = self.maintenance().sweeper.lock();
        if worth_it {
            sweeper.current = Some(cid);
        } else if !sweeper.planned.contains_key(&cid) {
            sweeper.plan(cid, view.now().plus(Millis(LOOK_AGAIN_MS)));
        }
        Ok(worth_it)
    }

    /// Once after the start: every collection whose items can expire may have something that an earlier process has purged and not swept.
    async fn look_through(&self) -> std::result::Result<(), StoreError> {
        if self.maintenance().sweeper.lock().looked {
            return Ok(());
        }
        let view = self.store().view().await?;
        let mut sweeper = self.maintenance().sweeper.lock();
        sweeper.looked = true;
        for collection in view.catalog().in_need_of(Upkeep::Purge) {
            sweeper.plan(collection.cid, Millis(0));
        }
        Ok(())
    }
}
