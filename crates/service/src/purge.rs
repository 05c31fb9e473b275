//! Removes the dead between requests: when the calendar says that some are due, and from what requests have left over.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lapsedb_record::Millis;
use lapsedb_store::{Collection, Purged, View};

use crate::agenda::Written;
use crate::background::Piece;
use crate::charge;
use crate::error::Result;
use crate::service::Service;
use crate::throughput::Owner;

/// How long the calendar of a collection that is being written to is not asked again, in milliseconds.
const RECHECK_MS: u64 = 5000;
/// Deletes' worth of work for one collection in one tick where no throughput is provisioned and no request came.
const DELETES_IDLE: u64 = 2000;
/// The same while requests come.
const DELETES_BUSY: u64 = 500;
/// The same at least, whatever requests leave, while the disk is nearly full.
const DELETES_PRESSED: u64 = 100;
/// Where the engine drops the dead by itself, so many are settled for the price of one delete.
const SETTLED_PER_DELETE: u64 = 50;
/// An item is taken to have so many bytes when its delete is priced.
const ITEM_BYTES: usize = 1024;

impl Service {
    /// Removes what is dead and past its grace, as far as the leftover budget goes.
    pub(crate) async fn purge_due(&self, busy: bool) -> Result<()> {
        let agenda = &self.maintenance().purges;
        let soon = self.clock().now().plus(Millis(RECHECK_MS));
        agenda.lock().hear_commits(self.store(), Written::By(soon));
        let view = self.store().view().await?;
        agenda
            .lock()
            .hear_catalog(view.catalog(), Collection::can_expire);
        let due = agenda.lock().due(view.now());
        let catalog = Arc::clone(view.catalog());
        // No view is kept meanwhile: it would hold back what may go.
        drop(view);
        let mut used = HashMap::new();
        for due in due {
            let found = catalog.collections_numbered(&[due.cid]);
            let Some(collection) = found.first() else {
                agenda.lock().remove(due.cid);
                continue;
            };
            let purged = self.purge_collection(collection, busy, &mut used);
            let background = &self.maintenance().background;
            let piece = Piece::Purge(collection.cid);
            // What fails stays due; it is left out more and more often.
            if let Some(at) = background.run(piece, purged).await {
                agenda.lock().plan(due, at);
            }
        }
        self.documents_state().ttl_monitor.passed();
        Ok(())
    }

    async fn purge_collection(
        &self,
        collection: &Arc<Collection>,
        busy: bool,
        used: &mut HashMap<Owner, u64>,
    ) -> Result<Millis> {
        let view = self.store().view().await?;
        let deletes = self.deletes_left(&view, collection, busy, used);
        drop(view);
        let room = if self.store().settles(collection) {
            deletes.saturating_mul(SETTLED_PER_DELETE)
        } else {
            deletes
        };
        let (mut dated, mut purged) = (Purged::default(), Purged::default());
        if room > 0 {
            let (store, grace) = (self.store(), self.grace());
            dated = store.purge_dated(collection, grace, deletes).await?;
            self.count_purged(collection, dated);
            let room = room.saturating_sub(dated.items);
            purged = store.purge_by_ttl(collection, grace, room).await?;
            self.count_purged(collection, purged);
        }
        let used_up = dated.items >= deletes || purged.items >= room;
        self.next_purge(collection, used_up).await
    }

    pub(crate) fn grace(&self) -> Millis {
        Millis(self.config().purge_grace.saturating_mul(1000))
    }

    pub(crate) fn count_purged(&self, collection: &Collection, purged: Purged) {
        if purged.items > 0 {
            let maintenance = self.maintenance();
            maintenance
                .purged_items
                .fetch_add(purged.items, Ordering::Relaxed);
            maintenance
                .purged_bytes
                .fetch_add(purged.bytes, Ordering::Relaxed);
            // What the engine drops by itself is no commit to the collection.
            self.store().note_changed(collection.cid);
            self.may_sweep(collection.cid);
        }
    }

    /// How many deletes the request units that the last second left over would pay for. Collections that share throughput
    /// share what is left of it.
    fn deletes_left(
        &self,
        view: &View,
        collection: &Collection,
        busy: bool,
        used: &mut HashMap<Owner, u64>,
    ) -> u64 {
        let deletes = match self.throughputs().left_over(view, collection) {
            None if busy => DELETES_BUSY,
            None => DELETES_IDLE,
            Some((owner, left)) => {
                let used = used.entry(owner).or_default();
                let deletes = deletes_for(left).saturating_sub(*used);
                *used = used.saturating_add(deletes);
                deletes
            }
        };
        if deletes < DELETES_PRESSED && self.store().disk_is_nearly_full() {
            return DELETES_PRESSED;
        }
        deletes
    }

    /// Asks the calendar when the collection is worth the next look, if nothing is written to it.
    async fn next_purge(&self, collection: &Collection, used_up: bool) -> Result<Millis> {
        let view = self.store().view().await?;
        let usage = view.usage(collection).await?;
        let grace = self.grace();
        Ok(if usage.expired.items == 0 {
            usage
                .next_expiry
                .map_or(Millis(u64::MAX), |expiry| expiry.plus(grace))
        } else if used_up {
            // The next tick brings new budget.
            view.now()
        } else {
            // What is dead waits for its grace, or for that of the settings.
            let since = usage.oldest_expired.unwrap_or_default();
            since.max(collection.written.millis()).plus(grace)
        })
    }
}

/// How many deletes some request units pay for.
pub(crate) fn deletes_for(units: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates"
    )]
    let deletes = (units / charge::delete(ITEM_BYTES)).max(0.0) as u64;
    deletes
}
