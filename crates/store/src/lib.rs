//! Collections of records on an engine: the only crate that names `kv`.
//!
//! Whatever another process on the same engine would need is in the engine; what is cached in memory carries a version
//! and is checked. Knows no protocol and no request.

mod burial;
pub mod catalog;
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
mod recount;
pub mod rid;
mod settled;
mod sweep;
pub mod txn;
mod usage;
pub mod versions;
pub mod view;
mod views;

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use lapsedb_kv::{AnyEngine, Batch, Engine, Expect, Fill, Snapshot, Space, Template};
use lapsedb_record::{Clock, Millis};
use lapsedb_value::{Object, bson};
use parking_lot::Mutex;

pub use catalog::{Catalog, Collection, Database, MetaRecord, NamedView, Offer};
pub use change_feed::{ChangeLimits, ChangePage, ChangesAfter};
pub use claims::{ClaimKey, Claimant, Claims};
pub use error::{Result, StoreError};
pub use index::named::build::Built;
pub use index::named::keys::Unindexable;
pub use index::named::{IndexDefinition, IndexPart, NamedIndex, NamedIndexes, PartKind};
pub use keys::{CollectionId, ItemKey};
pub use listen::Listener;
pub use open::{OpenError, OpenOptions, Place};
pub use outlook::{Forecast, Preview, Width};
pub use purger::Purged;
pub use recount::Recount;
pub use txn::{Cap, Done, Duplicate, Found, Note, Refused, Txn, Written};
pub use usage::{Tally, Usage};
pub use versions::event::{Event, EventKind, Image as EventImage, Place as EventPlace};
pub use versions::history::{History, VERSIONS_RETENTION_SECS, policy_retention};
pub use versions::{EventPage, Events, Source};
pub use view::{ItemPage, ItemRange, LiveItem, ScanLimits, Span, View};

use catalog::epoch;
use index::named::FilterCompiler;
use index::named::build::Builders;
use keys::MetaKind;
use listen::Listeners;
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
    image: ArcSwap<Image>,
    listeners: Listeners,
    marks: Arc<Marks>,
    views: Views,
    sweeping: Mutex<Option<Sweep>>,
    filters: OnceLock<FilterCompiler>,
    builders: Builders,
    claims: Claims,
}

/// The catalog in memory, and the newest commit at which it was known to be the engine's.
struct Image {
    stamp: u64,
    catalog: Arc<Catalog>,
}

/// Changes of the catalog that belong together.
#[derive(Default)]
pub struct MetaChange {
    puts: Vec<(Vec<u8>, Object)>,
    deletes: Vec<Vec<u8>>,
    delete_prefixes: Vec<Vec<u8>>,
    drops: Vec<CollectionId>,
    forgets: Vec<CollectionId>,
    next: Option<u32>,
    not_after: Option<Millis>,
    holds_readers: bool,
}

impl MetaChange {
    /// Writes a record.
    pub fn put(&mut self, key: Vec<u8>, body: Object) -> &mut MetaChange {
        self.puts.push((key, body));
        self
    }

    /// Removes a record.
    pub fn delete(&mut self, key: Vec<u8>) -> &mut MetaChange {
        self.deletes.push(key);
        self
    }

    /// Removes all records under a prefix.
    pub fn delete_prefix(&mut self, prefix: Vec<u8>) -> &mut MetaChange {
        self.delete_prefixes.push(prefix);
        self
    }

    /// Removes a collection's record and, after the commit, all of its data.
    pub fn drop_collection(&mut self, cid: CollectionId) -> &mut MetaChange {
        self.delete(keys::meta_numbered(MetaKind::Collection, cid.0));
        self.delete(keys::meta_numbered(MetaKind::IndexBuild, cid.0));
        self.delete(versions::state::key(cid));
        self.delete(settled::key(cid));
        self.delete(keys::meta_numbered(MetaKind::Capped, cid.0));
        self.delete_prefix(keys::meta_numbered(MetaKind::Multikey, cid.0));
        for kind in [
            MetaKind::StoredProcedure,
            MetaKind::Trigger,
            MetaKind::UserDefinedFunction,
        ] {
            self.delete_prefix(keys::meta_owned(kind, u64::from(cid.0)));
        }
        self.drops.push(cid);
        self
    }

    /// Removes a collection's kept versions.
    pub(crate) fn forget_versions(&mut self, cid: CollectionId) -> &mut MetaChange {
        self.delete(versions::state::key(cid));
        self.forgets.push(cid);
        self
    }

    /// Commits only before this instant: what was computed for a second must not land in the next one.
    pub fn not_after(&mut self, limit: Millis) -> &mut MetaChange {
        self.not_after = Some(limit);
        self
    }

    /// Makes readers wait for this change, so that it holds from the very instant of its commit.
    pub fn hold_readers(&mut self) -> &mut MetaChange {
        self.holds_readers = true;
        self
    }

    /// Says which number is the next free one.
    pub fn next(&mut self, next: u32) -> &mut MetaChange {
        self.next = Some(next);
        self
    }
}

/// A committed change of the catalog.
#[derive(Clone, Copy, Debug)]
pub struct MetaDone {
    /// The commit: the etag of what it wrote.
    pub lsn: u64,
    /// Its time.
    pub now: Millis,
}

impl Store {
    /// What a request sees from now on.
    ///
    /// # Errors
    /// When the engine fails or the catalog is damaged.
    pub async fn view(&self) -> Result<View> {
        let held = self.views.enter();
        let snapshot = self.engine.snapshot().await?;
        // Whoever sees an item gone by a time must not see it again after a crash, so that time is made durable first.
        if let Some(leap) = self.clock.leapt() {
            self.persist_clock().await?;
            self.clock.leap_saved(leap);
        }
        let stamp = snapshot.stamp().0;
        let image = self.image.load();
        if image.stamp == stamp {
            return Ok(View::new(held, snapshot, Arc::clone(&image.catalog)));
        }
        let epoch = epoch(&snapshot).await?;
        let catalog = if image.catalog.epoch == epoch {
            Arc::clone(&image.catalog)
        } else {
            Arc::new(Catalog::load(&snapshot, epoch, self.filters()).await?)
        };
        let fresh = Arc::new(Image {
            stamp,
            catalog: Arc::clone(&catalog),
        });
        // Several requests may look at once; the newest image stays.
        self.image.rcu(|current| {
            if current.stamp < stamp {
                Arc::clone(&fresh)
            } else {
                Arc::clone(current)
            }
        });
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

    /// Commits a change of the catalog, on the condition that the catalog is still as the view saw it.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when the catalog has changed; otherwise when the engine fails.
    pub async fn change_catalog(&self, view: &View, change: MetaChange) -> Result<MetaDone> {
        let mut batch = Batch::new();
        let drops = change.drops.clone();
        change.add_to(view, &mut batch);
        let done = self.engine.commit(batch).await?;
        for cid in drops {
            self.drop_data(cid).await?;
        }
        Ok(MetaDone {
            lsn: done.stamp.0,
            now: Millis(done.now),
        })
    }

    /// Removes a dropped collection's data; begun again at the next start if it is cut off.
    pub(crate) async fn drop_data(&self, cid: CollectionId) -> Result<()> {
        self.marks.forget(cid);
        let prefix = keys::collection_prefix(cid);
        let end = lapsedb_kv::prefix_end(&prefix);
        for space in Space::ALL {
            if space != Space::Meta {
                self.engine.drop_range(space, &prefix, &end).await?;
            }
        }
        let mut batch = Batch::new();
        batch.delete(Space::Meta, keys::meta_numbered(MetaKind::Dropping, cid.0));
        self.engine.commit(batch).await?;
        Ok(())
    }

    /// Makes the clock's present value durable: a moved virtual clock must survive, and so must what readers have seen.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn persist_clock(&self) -> Result<()> {
        let mut batch = Batch::new();
        let clock = self.clock.checkpoint(self.clock.now());
        batch.put(
            Space::Meta,
            Template::from(keys::CLOCK),
            Template::from(clock),
        );
        self.engine.commit(batch).await?;
        Ok(())
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

impl MetaChange {
    /// Adds the change to a batch, on the condition that the catalog is still as the view saw it.
    fn add_to(self, view: &View, batch: &mut Batch) {
        let expect = match view.catalog().epoch {
            0 => Expect::Absent,
            epoch => Expect::StartsWith(epoch.to_be_bytes().to_vec()),
        };
        batch.check(Space::Meta, keys::EPOCH, expect);
        if let Some(limit) = self.not_after {
            batch.not_after(limit.0);
        }
        if self.holds_readers {
            batch.hold_readers();
        }
        let mut epoch = Template::with_capacity(8);
        epoch.fill(Fill::Stamp);
        batch.put(Space::Meta, Template::from(keys::EPOCH), epoch);
        if let Some(next) = self.next {
            batch.put(
                Space::Meta,
                Template::from(keys::NEXT),
                Template::from(next.to_be_bytes().to_vec()),
            );
        }
        for prefix in self.delete_prefixes {
            batch.delete_range(Space::Meta, prefix.clone(), lapsedb_kv::prefix_end(&prefix));
        }
        for key in self.deletes {
            batch.delete(Space::Meta, key);
        }
        for cid in &self.forgets {
            let prefix = keys::collection_prefix(*cid);
            let end = lapsedb_kv::prefix_end(&prefix);
            batch.delete_range(Space::Versions, prefix, end);
        }
        for cid in &self.drops {
            batch.put(
                Space::Meta,
                Template::from(keys::meta_numbered(MetaKind::Dropping, cid.0)),
                meta_value(&Object::new()),
            );
        }
        for (key, body) in self.puts {
            batch.put(Space::Meta, Template::from(key), meta_value(&body));
        }
    }
}

/// A catalog record's value: the commit fills in lsn, second and, behind the body, millisecond.
pub(crate) fn meta_value(body: &Object) -> Template {
    let mut value = Template::with_capacity(256);
    value
        .fill(Fill::Stamp)
        .fill(Fill::Seconds { plus: 0, unit: 1 });
    bson::write_document(body, &mut value.bytes);
    value.fill(Fill::Millis);
    value
}
