//! Collections of records on an engine: the only crate that names `kv`.
//!
//! Whatever another process on the same engine would need is in the engine; what is cached in memory carries a version
//! and is checked. Knows no protocol and no request.

mod burial;
pub mod catalog;
mod change;
mod change_feed;
mod claims;
mod dated;
mod entries;
pub mod error;
pub mod index;
pub mod keys;
mod listen;
mod open;
mod outlook;
pub mod partition_key;
mod purger;
mod recent;
mod recount;
pub mod rid;
mod settled;
mod sweep;
mod ttl_change;
pub mod txn;
mod usage;
pub mod versions;
pub mod view;
mod views;

use std::sync::{Arc, OnceLock};

use lapsedb_kv::{AnyEngine, Batch, Engine, Space, Template, Then};
use lapsedb_record::clock::{ClockError, Move};
use lapsedb_record::{Clock, Millis};
use parking_lot::Mutex;

pub use catalog::{Catalog, Collection, Database, MetaRecord, NamedView, Offer, Upkeep};
pub use change::{MetaChange, MetaDone};
pub use change_feed::{ChangeLimits, ChangePage, ChangesAfter};
pub use claims::{ClaimKey, Claimant, Claims};
pub use error::{Result, StoreError};
pub use index::named::build::Built;
pub use index::named::keys::Unindexable;
pub use index::named::rebase::Rebased;
pub use index::named::{IndexDefinition, IndexPart, NamedIndex, NamedIndexes, PartKind};
pub use keys::{CollectionId, ItemKey};
pub use listen::Listener;
pub use open::{OpenError, OpenOptions, Place, Verified, verify};
pub use outlook::{Forecast, Preview, Width};
pub use purger::Purged;
pub use recount::Recount;
pub use ttl_change::TtlChange;
pub use txn::{Cap, Done, Duplicate, Found, Note, Operation, Refused, Txn, VersionNumber, Written};
pub use usage::{Tally, Usage};
pub use versions::catalog_log::{CatalogEvent, ViewEvent};
pub use versions::event::{Event, EventKind, Image as EventImage, Place as EventPlace};
pub use versions::grave::Grave;
pub use versions::history::{History, VERSIONS_RETENTION_SECS, policy_retention};
pub use versions::watch::Watched;
pub use versions::{EventPage, Events, Source};
pub use view::{ItemPage, ItemRange, LiveItem, ScanLimits, Span, View};

pub(crate) use change::meta_value;

use catalog::cache::CatalogCache;
use index::named::FilterCompiler;
use index::named::build::Builders;
use listen::Listeners;
use recent::Recent;
use settled::Marks;
use sweep::Sweep;
use views::Views;

/// Below this part of the disk, in percent, there is little room.
const DISK_ROOM_PERCENT_MIN: u64 = 10;
/// But a disk with room for all of the store once more, and so many bytes, has enough.
const DISK_ROOM_BYTES_MIN: u64 = 1 << 30;

/// A store: an engine, a clock, and an image of the catalog.
pub struct Store {
    engine: AnyEngine,
    clock: Arc<Clock>,
    catalog: CatalogCache,
    listeners: Arc<Listeners>,
    recent: Arc<Recent>,
    marks: Arc<Marks>,
    views: Views,
    sweeping: Mutex<Option<Sweep>>,
    filters: OnceLock<FilterCompiler>,
    builders: Builders,
    claims: Claims,
    moving_clock: tokio::sync::Mutex<()>,
}

impl Store {
    /// What a request sees from now on.
    ///
    /// # Errors
    /// When the engine fails or the catalog is damaged.
    pub async fn view(&self) -> Result<View> {
        let held = self.views.enter();
        let known = self.catalog.known();
        let snapshot = self.engine.snapshot().await?;
        // Whoever sees an item gone by a time must not see it again after a crash, so that time is made durable first.
        if let Some(leap) = self.clock.leapt() {
            self.persist_clock().await?;
            self.clock.leap_saved(leap);
        }
        let catalog = self.catalog.at(&known, &snapshot, self.filters()).await?;
        Ok(View::new(held, snapshot, catalog))
    }

    /// Says how filters and collations of indexes are read. To be said before the first view, and only once.
    pub fn set_filters(&self, compiler: FilterCompiler) {
        // A second one would judge what the first has admitted; the first stays.
        let _ = self.filters.set(compiler);
    }

    pub(crate) fn filters(&self) -> Option<&FilterCompiler> {
        self.filters.get()
    }

    pub(crate) const fn builders(&self) -> &Builders {
        &self.builders
    }

    /// What open transactions are about to change.
    #[must_use]
    pub const fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The engine's clock.
    #[must_use]
    pub const fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Bytes on disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.engine.disk_bytes()
    }

    /// Why writes fail at present, or those that add something, if they do.
    #[must_use]
    pub fn writing_halted(&self) -> Option<String> {
        self.engine.halted().map(|error| error.to_string())
    }

    /// Whether every commit that ended as [`StoreError::Unknown`] is known not to have been made. Otherwise the next start tells.
    #[must_use]
    pub fn outcomes_are_known(&self) -> bool {
        self.engine.outcomes_are_known()
    }

    /// Stored data that was found to be damaged in the background, one text for each table. Everything else goes on.
    #[must_use]
    pub fn damage(&self) -> Vec<String> {
        self.engine.damage()
    }

    /// What is free of the disk and how large it is; nothing, if the store is in memory.
    #[must_use]
    pub fn disk_room(&self) -> Option<(u64, u64)> {
        self.engine.disk_room()
    }

    /// Whether little room is left where the store lives: of the disk, and for what the store itself holds.
    #[must_use]
    pub fn disk_is_nearly_full(&self) -> bool {
        self.engine.disk_room().is_some_and(|(free, all)| {
            free.saturating_mul(100) < all.saturating_mul(DISK_ROOM_PERCENT_MIN)
                && free < self.disk_bytes().saturating_add(DISK_ROOM_BYTES_MIN)
        })
    }

    /// From now on, a view that stays open holds back purging no further than to this moment. For about every second.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn turn_views(&self) -> Result<()> {
        self.views.reach(&self.engine).await?;
        Ok(())
    }

    pub(crate) const fn engine(&self) -> &AnyEngine {
        &self.engine
    }

    /// Makes the clock's present value durable: a moved virtual clock must survive, and so must what readers have seen.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn persist_clock(&self) -> Result<()> {
        // Who waits for a moment to come must look at a clock that was moved.
        self.save_clock(self.announcing([], true)).await
    }

    async fn save_clock(&self, then: Then) -> Result<()> {
        let mut batch = Batch::new();
        let clock = self.clock.checkpoint(self.clock.now());
        batch.put(
            Space::Meta,
            Template::from(keys::CLOCK),
            Template::from(clock),
        );
        self.engine.commit_then(batch, then).await?;
        Ok(())
    }

    /// Moves the virtual clock; the move is durable before anybody sees it. Once this is polled the move may be made although
    /// nobody waits for the answer.
    ///
    /// # Errors
    /// When the clock cannot be moved so, or the engine fails; then it stands where it stood.
    pub async fn move_clock(
        &self,
        plan: impl FnOnce(&Clock) -> std::result::Result<Move, ClockError>,
    ) -> Result<std::result::Result<Millis, ClockError>> {
        // The next move is counted from where this one ends.
        let _one_at_a_time = self.moving_clock.lock().await;
        let planned = match plan(&self.clock) {
            Ok(planned) => planned,
            Err(refused) => return Ok(Err(refused)),
        };
        // Those who wait are woken when the move can be seen.
        let saved = match self.save_clock(Box::new(|_| ())).await {
            Ok(()) => self.engine.sync().await.map_err(StoreError::from),
            Err(error) => Err(error),
        };
        if let Err(error) = saved {
            self.clock.take_back(planned);
            return Err(error);
        }
        let now = self.clock.show(planned);
        self.announce_circumstances();
        Ok(Ok(now))
    }

    /// Commits what is waiting, makes the clock durable and closes the engine.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn close(&self) -> Result<()> {
        let saved = self.persist_clock().await;
        self.engine.close().await?;
        saved
    }
}
