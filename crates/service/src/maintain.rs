//! What the server does between requests: it samples the clock, keeps its floor durable, tells expiries to those who follow
//! them, and removes the dead and the versions whose retention is over.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lapsedb_record::Millis;
use lapsedb_record::clock::ClockEvent;
use lapsedb_store::{Collection, CollectionId, StoreError, View, Watched};
use parking_lot::Mutex;

use crate::agenda::{Agenda, Written};
use crate::background::{Background, Piece, WorkState};
use crate::documents::Unfinished;
use crate::error::Result;
use crate::service::Service;
use crate::sessions::SESSION_SECONDS;
use crate::sweep::Sweeper;
use crate::totals::Totals;

/// How often the clock's floor is made durable while only readers come, in ticks.
const FLOOR_TICKS: u64 = 5;
/// How often notes of sessions that were not used for long are removed, by the clock.
const SESSION_SWEEP_MILLIS: u64 = 60_000;
/// How often changes that are kept for nobody in particular are said to be wanted still, in ticks.
const KEEP_TICKS: u64 = 60;
/// The number of what has become of collections.
const CATALOG: CollectionId = CollectionId(0);
/// Dropped collections whose data is removed in one tick.
const DROPS_PER_TICK: usize = 100;
/// Expiries of one collection that are told in one tick.
const TELL_PER_TICK: u64 = 20_000;

/// What the maintainer remembers from tick to tick. All of it can be lost: it only saves work.
#[derive(Default)]
pub(crate) struct Maintenance {
    /// Requests since the start.
    pub(crate) requests: AtomicU64,
    /// How many there were at the last tick, and when the floor was last made durable.
    requests_ticked: AtomicU64,
    requests_saved: AtomicU64,
    ticks: AtomicU64,
    /// When notes of sessions were last removed.
    sessions_swept: AtomicU64,
    /// Which collections may have something to purge.
    pub(crate) purges: Mutex<Agenda>,
    /// Which collections may have expiries to emit, or versions to remove.
    versions: Mutex<Agenda>,
    /// Held by who looks at those.
    keeping_versions: tokio::sync::Mutex<()>,
    /// By settings, when a collection's versions are worth a look.
    trims: Mutex<HashMap<CollectionId, (u64, Millis)>>,
    pub(crate) totals: tokio::sync::Mutex<Totals>,
    pub(crate) purged_items: AtomicU64,
    pub(crate) purged_bytes: AtomicU64,
    pub(crate) sweeper: Mutex<Sweeper>,
    pub(crate) unfinished: Mutex<Unfinished>,
    pub(crate) background: Background,
}

/// Figures over all collections.
#[derive(Clone, Debug, Default)]
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
    /// Items that queries have loaded since the start.
    pub query_items_read: u64,
    /// Index entries that queries have looked at since the start.
    pub query_index_entries_read: u64,
    /// Whether the clock is suspect.
    pub clock_suspect: bool,
    /// Whether writes fail at present, or those that add something.
    pub writing_halted: bool,
    /// Tables that were found to be damaged in the background.
    pub damaged_tables: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Bytes of memory that requests hold.
    pub request_memory_bytes: u64,
    /// How many they may hold together.
    pub request_memory_max_bytes: u64,
    /// Requests that were stopped because they would have held more.
    pub requests_stopped_for_memory: u64,
    /// How work between requests fares.
    pub background: Vec<WorkState>,
}

impl Service {
    /// Why writes fail at present, or those that add something, if they do.
    #[must_use]
    pub fn writing_halted(&self) -> Option<String> {
        self.store().writing_halted()
    }

    /// Stored data that was found to be damaged in the background, one text for each table. Everything else goes on.
    #[must_use]
    pub fn damage(&self) -> Vec<String> {
        self.store().damage()
    }

    /// What is free of the disk and how large it is; nothing, if the store is in memory.
    #[must_use]
    pub fn disk_room(&self) -> Option<(u64, u64)> {
        self.store().disk_room()
    }

    /// Removes notes of sessions that were not used for long, once in a while: a clock that was moved far is a while, too.
    async fn sweep_sessions(&self) -> Result<()> {
        let now = self.clock().now().0;
        let swept = &self.maintenance().sessions_swept;
        if now.saturating_sub(swept.load(Ordering::Relaxed)) < SESSION_SWEEP_MILLIS {
            return Ok(());
        }
        let kept = SESSION_SECONDS.saturating_mul(1000);
        match self
            .store()
            .forget_notes(Millis(now.saturating_sub(kept)))
            .await
        {
            Ok(_) => swept.store(now, Ordering::Relaxed),
            // Somebody has just used one of them: the next tick will do.
            Err(StoreError::Retry) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// One tick, about once a second. Says what has happened to the clock. What fails is logged and counted, and holds up
    /// nothing else.
    pub async fn tick(&self) -> Vec<ClockEvent> {
        let events = self.clock().sample();
        let maintenance = self.maintenance();
        let background = &maintenance.background;
        let ticks = maintenance.ticks.fetch_add(1, Ordering::Relaxed) + 1;
        let sessions = self.forget_sessions();
        background.run(Piece::ForgetSessions, sessions).await;
        let requests = maintenance.requests.load(Ordering::Relaxed);
        let busy = maintenance
            .requests_ticked
            .swap(requests, Ordering::Relaxed)
            != requests;
        let clock = self.keep_clock(ticks, requests);
        background.run(Piece::KeepClock, clock).await;
        if ticks.is_multiple_of(KEEP_TICKS) {
            let kept = self.keep_all_changes();
            background.run(Piece::KeepAllChanges, kept).await;
        }
        self.finish_drops().await;
        let versions = self.keep_versions_true();
        background.run(Piece::KeepAllVersions, versions).await;
        let figures = self.count_figures();
        background.run(Piece::CountAsked, figures).await;
        let indexes = self.finish_indexes();
        background.run(Piece::FinishIndexes, indexes).await;
        if self.purges() {
            let purged = self.purge_due(busy);
            background.run(Piece::PurgeAll, purged).await;
        }
        events
    }

    /// Removes the data of dropped collections, each by itself.
    async fn finish_drops(&self) {
        let background = &self.maintenance().background;
        let pending = self.store().pending_drops(DROPS_PER_TICK);
        let pending = background.run(Piece::FindDrops, pending).await;
        let pending = pending.unwrap_or_default();
        self.forget_dropped(&pending).await;
        for cid in pending {
            let dropped = self.store().drop_data(cid);
            background.run(Piece::DropData(cid), dropped).await;
        }
    }

    /// Forgets collections that are gone, wherever they are remembered. With their data the store forgets that they were
    /// dropped, and whoever asks it afterwards what has changed would keep them forever.
    async fn forget_dropped(&self, dropped: &[CollectionId]) {
        if dropped.is_empty() {
            return;
        }
        let maintenance = self.maintenance();
        // Whoever is at it has a view that may still have them, and would note them again.
        let _nobody_emits = maintenance.keeping_versions.lock().await;
        let mut totals = maintenance.totals.lock().await;
        for cid in dropped {
            totals.forget(*cid);
            maintenance.trims.lock().remove(cid);
            maintenance.versions.lock().remove(*cid);
            maintenance.purges.lock().remove(*cid);
        }
    }

    async fn forget_sessions(&self) -> Result<()> {
        self.documents_state().sweep(self.clock().now());
        let view = self.store().view().await?;
        self.documents_state().seen(view.lsn());
        let catalog = view.catalog();
        let exists = |cid| catalog.collection_numbered(cid).is_some();
        self.maintenance().background.keep(exists);
        drop(view);
        self.sweep_sessions().await
    }

    async fn keep_clock(&self, ticks: u64, requests: u64) -> Result<()> {
        let saved = &self.maintenance().requests_saved;
        if ticks.is_multiple_of(FLOOR_TICKS) && saved.swap(requests, Ordering::Relaxed) != requests
        {
            self.persist_clock().await?;
        }
        Ok(self.store().turn_views().await?)
    }

    /// Keeps the changes of all collections of the Mongo door, if that is wanted whether anybody reads them or not.
    pub(crate) async fn keep_all_changes(&self) -> std::result::Result<(), StoreError> {
        if !self.config().keep_changes {
            return Ok(());
        }
        let kept = self.keep_watched(Watched::Everything).await;
        if kept.is_err() {
            // One that is damaged keeps no other from being followed.
            let (store, retention) = (self.store(), self.config().change_retention);
            let view = store.view().await?;
            for collection in view.catalog().unkept(None) {
                let cid = collection.cid;
                let one = store.keep_versions_for(cid, Some(retention));
                let background = &self.maintenance().background;
                background.run(Piece::KeepChanges(cid), one).await;
            }
        }
        kept
    }

    /// Has a database or everything be followed: all collections there are and will be. Those that are followed already are
    /// not looked at, unless that is to be for another retention than before.
    pub(crate) async fn keep_watched(
        &self,
        watched: Watched<'_>,
    ) -> std::result::Result<(), StoreError> {
        let (store, retention) = (self.store(), self.config().change_retention);
        let as_before = store.watch(watched, retention).await?;
        let view = store.view().await?;
        let catalog = view.catalog();
        let database = match watched {
            Watched::Everything => None,
            Watched::Database(name) | Watched::Collection(name, _) => {
                let Some(database) = catalog.database(name) else {
                    return Ok(());
                };
                Some(database.number)
            }
        };
        let unkept = catalog.unkept(database);
        let mut others = match (as_before, database) {
            (true, _) => Vec::new(),
            (false, Some(database)) => catalog.collections(database),
            (false, None) => catalog.all_collections(),
        };
        drop(view);
        let cids: Vec<_> = unkept.iter().map(|collection| collection.cid).collect();
        store.begin_versions_of(&cids, retention).await?;
        // What was dead before anybody followed is not told to them.
        for collection in unkept.iter().filter(|collection| collection.can_expire()) {
            store.tell_expiries(collection.cid, u64::MAX).await?;
        }
        others.retain(|collection| {
            let history = &collection.history;
            collection.mongo.is_some() && history.kept && history.retention != Some(retention)
        });
        for collection in others {
            let kept = store.keep_versions_for(collection.cid, Some(retention));
            kept.await?;
        }
        Ok(())
    }

    /// Forgets who watched and reads no more, and what has become of collections too long ago.
    async fn trim_catalog_log(&self, view: &View) -> Result<()> {
        let store = self.store();
        for done in [
            store.end_watches(view).await,
            store.clear_graves(view).await,
        ] {
            match done {
                // The catalog has changed; the next tick looks again.
                Ok(()) | Err(StoreError::Retry) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let trims = &self.maintenance().trims;
        let epoch = view.catalog().epoch;
        let next = trims.lock().get(&CATALOG).copied();
        if next.is_none_or(|(then, next)| then != epoch || next <= view.now()) {
            match store.trim_catalog_log().await {
                Ok(next) => {
                    trims.lock().insert(CATALOG, (epoch, next));
                }
                Err(StoreError::Retry) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Where versions are kept, emits what has expired, and removes versions that are kept no longer.
    async fn keep_versions_true(&self) -> Result<()> {
        let view = self.store().view().await?;
        self.trim_catalog_log(&view).await?;
        drop(view);
        self.emit_due(TELL_PER_TICK).await
    }

    /// Looks at the collections whose versions are kept and of which something may have expired: emits that, up to so many of each.
    pub(crate) async fn emit_due(&self, events_max: u64) -> Result<()> {
        // Whoever comes while somebody looks finds all of it emitted.
        let _one_at_a_time = self.maintenance().keeping_versions.lock().await;
        let agenda = &self.maintenance().versions;
        agenda.lock().hear_commits(self.store(), Written::Now);
        let view = self.store().view().await?;
        let kept = |collection: &Collection| collection.history.kept;
        agenda.lock().hear_catalog(view.catalog(), kept);
        let due = agenda.lock().due(view.now());
        for due in due {
            let found = view.catalog().collections_numbered(&[due.cid]);
            let Some(collection) = found.first() else {
                agenda.lock().remove(due.cid);
                continue;
            };
            let kept = self.keep_true(&view, collection, events_max);
            let background = &self.maintenance().background;
            let piece = Piece::KeepVersions(collection.cid);
            // What fails stays due; it is left out more and more often.
            if let Some(at) = background.run(piece, kept).await {
                agenda.lock().plan(due, at);
            }
        }
        Ok(())
    }

    /// When the first of the collections whose versions are kept is worth a look.
    pub(crate) fn next_emission(&self, now: Millis) -> Option<Millis> {
        self.maintenance().versions.lock().next(now)
    }

    /// The same for one collection. Says when it is worth the next look, if nothing is written to it.
    async fn keep_true(
        &self,
        view: &View,
        collection: &Arc<Collection>,
        events_max: u64,
    ) -> Result<Millis> {
        if view.expiries_due(collection).await? {
            let told = self.store().tell_expiries(collection.cid, events_max);
            told.await?;
        }
        let trims = &self.maintenance().trims;
        let version = collection.version;
        let known = trims.lock().get(&collection.cid).copied();
        let known = known.filter(|(then, next)| *then == version && *next > view.now());
        let trim = match known {
            Some((_, next)) => next,
            None => match self.store().trim_versions(collection).await {
                Ok(next) => {
                    trims.lock().insert(collection.cid, (version, next));
                    next
                }
                // Somebody was faster; the next tick looks again.
                Err(StoreError::Retry) => Millis(0),
                Err(error) => return Err(error.into()),
            },
        };
        let view = self.store().view().await?;
        let death = match collection.can_expire() {
            true => view.next_death(collection).await?,
            false => None,
        };
        Ok(death.map_or(trim, |death| death.min(trim)))
    }

    /// Figures over all collections, for the metrics page.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn gauges(&self) -> Result<Gauges> {
        let mut gauges = Gauges {
            purged_items: self.maintenance().purged_items.load(Ordering::Relaxed),
            purged_bytes: self.maintenance().purged_bytes.load(Ordering::Relaxed),
            query_items_read: self.counts().query_items(),
            query_index_entries_read: self.counts().query_index_entries(),
            clock_suspect: self.clock().suspect(),
            writing_halted: self.writing_halted().is_some(),
            damaged_tables: u64::try_from(self.damage().len()).unwrap_or(u64::MAX),
            disk_bytes: self.disk_bytes(),
            request_memory_bytes: self.memory().bytes() as u64,
            request_memory_max_bytes: self.memory().bytes_max() as u64,
            requests_stopped_for_memory: self.memory().stopped(),
            ..Gauges::default()
        };
        let held = self.all_totals().await?;
        gauges.items_live = held.live.items;
        gauges.items_expired = held.expired.items;
        gauges.purge_lag_secs = held.purge_lag_secs;
        gauges.background = self.maintenance().background.states();
        Ok(gauges)
    }
}
