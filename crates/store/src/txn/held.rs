//! What a transaction is about to change, and whether what it relied on still holds: for those who wait with their commit.

use std::time::Instant;

use lapsedb_kv::{Snapshot, Space};
use lapsedb_record::Mark;

use crate::claims::ClaimKey;
use crate::error::Result;
use crate::keys::ItemKey;
use crate::txn::{After, Txn};
use crate::view::View;

impl Txn<'_> {
    /// Waits at its commit no longer than this for those who are about to change the same.
    pub const fn wait_until(&mut self, until: Option<Instant>) {
        self.patience = until;
    }

    /// The records it changes and the unique values it takes.
    #[must_use]
    pub fn written(&self) -> Vec<ClaimKey> {
        let changed = self
            .slots
            .iter()
            .filter(|slot| !matches!(slot.after, After::Same));
        let records = changed.map(|slot| ClaimKey::item(&slot.key));
        let taken = self.taken.keys().map(|key| ClaimKey::unique(key));
        records.chain(taken).collect()
    }

    /// What the rule asks of the stored record that it found live under a key; nothing, if it found none or has not looked.
    #[must_use]
    pub fn found_live(&self, key: &ItemKey) -> Option<Mark> {
        let slot = &self.slots[self.slots.find(key)?];
        let before = slot.before.as_ref().filter(|before| before.live);
        before.map(|before| before.header.mark())
    }

    /// Whether a record with this mark is live by its policy and time.
    #[must_use]
    pub fn is_live(&self, mark: &Mark) -> bool {
        self.lens.is_live(mark)
    }

    /// All that it has looked at: the records, and the unique values that others have.
    #[must_use]
    pub fn touched(&self) -> Vec<ClaimKey> {
        let records = self.slots.iter().map(|slot| ClaimKey::item(&slot.key));
        let refused = self.refused.iter().map(|key| ClaimKey::unique(key));
        records.chain(refused).collect()
    }

    /// Whether a later view still has all that it relied on.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn still_holds(&self, later: &View) -> Result<bool> {
        for check in &self.batch.checks {
            let value = later.snapshot.get(check.space, &check.key).await?;
            let value = value.as_ref().map(AsRef::as_ref);
            if !check.expect.holds(value) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl ClaimKey {
    fn item(key: &ItemKey) -> ClaimKey {
        ClaimKey::new(Space::Items, key.as_bytes())
    }

    fn unique(key: &[u8]) -> ClaimKey {
        ClaimKey::new(Space::Unique, key)
    }
}
