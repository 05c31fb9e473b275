//! Gives back the disk space of what was settled: has the engine rewrite a collection, a stretch at a time.

use lapsedb_kv::{Batch, Engine, Space, Template, prefix_end};
use lapsedb_record::Secs;

use crate::Store;
use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId};
use crate::settled::{self, Ledger};
use crate::usage::Tally;
use crate::view::View;

/// A collection is rewritten when this share of it, in percent, is dead and settled.
const SWEEP_SHARE_PERCENT: u64 = 30;
/// Less than so many bytes are not worth rewriting a collection for.
const SWEEP_BYTES_MIN: u64 = 1024 * 1024;
/// But nothing stays longer than a day, however little it is.
const SWEEP_AFTER_SECS: u64 = 24 * 60 * 60;
/// The spaces in which a record leaves something, in the order they are swept.
const SPACES: [Space; 6] = [
    Space::Items,
    Space::Index,
    Space::Log,
    Space::Order,
    Space::Due,
    Space::Unique,
];

/// A collection being rewritten. It can be lost: then its sweep begins anew.
#[derive(Debug)]
pub(crate) struct Sweep {
    cid: CollectionId,
    /// The space it is at.
    at: usize,
    /// Where the next stretch begins.
    from: Vec<u8>,
    /// What was settled when it began.
    unswept: Tally,
}

impl Store {
    /// Whether enough of a collection is settled and still on the disk to be worth rewriting it.
    ///
    /// # Errors
    /// When the engine fails or the ledger is damaged.
    pub async fn sweep_is_worth_it(&self, view: &View, collection: &Collection) -> Result<bool> {
        let ledger = Ledger::load(&view.snapshot, collection.cid).await?;
        let Tally { items, bytes } = ledger.unswept;
        if items == 0 {
            return Ok(false);
        }
        if view.now().secs() >= ledger.since.plus(Secs(SWEEP_AFTER_SECS)) {
            return Ok(true);
        }
        if bytes < SWEEP_BYTES_MIN {
            return Ok(false);
        }
        let usage = view.usage(collection).await?;
        let all = usage.live.bytes + usage.expired.bytes + bytes;
        Ok(bytes.saturating_mul(100) >= all.saturating_mul(SWEEP_SHARE_PERCENT))
    }

    /// Rewrites the next stretch of a collection. Says whether it was the last one: nothing settled before the first is left.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn sweep(&self, cid: CollectionId) -> Result<bool> {
        let begun = self.sweeping.lock().take().filter(|sweep| sweep.cid == cid);
        let mut sweep = match begun {
            Some(sweep) => sweep,
            None => {
                let view = self.view().await?;
                let ledger = Ledger::load(&view.snapshot, cid).await?;
                if view.catalog().collection_numbered(cid).is_none()
                    || ledger.unswept == Tally::default()
                {
                    return Ok(true);
                }
                Sweep {
                    cid,
                    at: 0,
                    from: keys::collection_prefix(cid),
                    unswept: ledger.unswept,
                }
            }
        };
        let Some(space) = SPACES.get(sweep.at) else {
            return Ok(true);
        };
        let to = prefix_end(&keys::collection_prefix(cid));
        match self.engine().rewrite(*space, &sweep.from, &to).await? {
            Some(next) => sweep.from = next,
            None => {
                sweep.at += 1;
                sweep.from = keys::collection_prefix(cid);
            }
        }
        if sweep.at < SPACES.len() {
            *self.sweeping.lock() = Some(sweep);
            return Ok(false);
        }
        self.note_swept(cid, sweep.unswept).await?;
        Ok(true)
    }

    /// Takes from the ledger what has left the disk.
    async fn note_swept(&self, cid: CollectionId, swept: Tally) -> Result<()> {
        loop {
            let view = self.view().await?;
            let old = Ledger::load(&view.snapshot, cid).await?;
            let mut next = old;
            next.unswept.items = old.unswept.items.saturating_sub(swept.items);
            next.unswept.bytes = old.unswept.bytes.saturating_sub(swept.bytes);
            next.since = view.now().secs();
            if view.catalog().collection_numbered(cid).is_none() {
                return Ok(());
            }
            let mut batch = Batch::new();
            batch.check(Space::Meta, settled::key(cid), old.unchanged());
            batch.put(
                Space::Meta,
                Template::from(settled::key(cid)),
                Template::from(next.bytes()),
            );
            match self.engine().commit(batch).await.map_err(StoreError::from) {
                Ok(_) => return Ok(()),
                // The collection was settled further, or is gone.
                Err(StoreError::Retry) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
