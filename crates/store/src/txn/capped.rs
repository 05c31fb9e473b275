//! Room in a collection that holds only so much: the oldest items go in the commit that brings the new ones.

use lapsedb_kv::{Expect, Space, Template};
use lapsedb_value::{Object, Value};

use super::{After, Txn};
use crate::error::Result;
use crate::keys::{self, ItemKey, MetaKind};
use crate::partition_key::PartitionKey;
use crate::view::{ItemRange, ScanLimits};

/// Items looked at in one step.
const STEP_ITEMS: usize = 256;
/// Bytes looked at in one step.
const STEP_BYTES: usize = 4 << 20;

/// How much a collection may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// Items.
    pub items_max: u64,
    /// Bytes of their bodies.
    pub bytes_max: u64,
}

/// What a collection would hold.
#[derive(Clone, Copy)]
struct Held {
    items: u64,
    bytes: u64,
}

impl Held {
    /// Whether something has to go; the newest item stays whatever its size.
    fn is_over(self, cap: Cap) -> bool {
        self.items > 1 && (self.items > cap.items_max || self.bytes > cap.bytes_max)
    }

    fn without(self, bytes: u64) -> Held {
        Held {
            items: self.items.saturating_sub(1),
            bytes: self.bytes.saturating_sub(bytes),
        }
    }
}

impl Txn<'_> {
    /// Removes the oldest living items until what is left fits, if this transaction adds any. To be asked last. Those who
    /// add items to one collection commit one after the other; what has died counts no more.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn make_room(&mut self, cap: Cap) -> Result<()> {
        let added = |after: &After| matches!(after, After::Put { fresh: true, .. });
        if !self.slots.iter().any(|slot| added(&slot.after)) {
            return Ok(());
        }
        let key = keys::meta_numbered(MetaKind::Capped, self.collection.cid.0);
        let record = self.view.meta(&key).await?;
        let mut head = record
            .as_ref()
            .and_then(|record| u64::try_from(record.body.get("head")?.as_i64()?).ok())
            .unwrap_or(0);
        let mut held = self.held().await?;
        self.remove_stored(cap, (&mut held, &mut head), usize::MAX)
            .await?;
        self.remove_own(cap, &mut held);
        let expect = match &record {
            Some(record) => Expect::StartsWith(record.lsn.to_be_bytes().to_vec()),
            None => Expect::Absent,
        };
        self.batch.check(Space::Meta, key.as_slice(), expect);
        let mut body = Object::with_capacity(1);
        body.push(
            "head",
            Value::Int64(i64::try_from(head).unwrap_or(i64::MAX)),
        );
        self.batch
            .put(Space::Meta, Template::from(key), crate::meta_value(&body));
        Ok(())
    }

    /// Removes the oldest living items of a collection that holds too much, so many at most; false, if it fits then.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn trim(&mut self, cap: Cap, items: usize) -> Result<bool> {
        let mut held = self.held().await?;
        self.remove_stored(cap, (&mut held, &mut 0), items).await?;
        Ok(held.is_over(cap))
    }

    /// What the collection would hold after this transaction.
    async fn held(&self) -> Result<Held> {
        let live = self.view.usage(&self.collection).await?.live;
        let mut held = Held {
            items: live.items,
            bytes: live.bytes,
        };
        for slot in self.slots.iter() {
            let before = slot.before.as_ref().filter(|before| before.live);
            if let (Some(before), false) = (before, matches!(slot.after, After::Same)) {
                held = held.without(u64::from(before.header.charged));
            }
        }
        for slot in self.slots.iter() {
            if let After::Put { body, .. } = &slot.after {
                held.items += 1;
                held.bytes += length(body);
            }
        }
        Ok(held)
    }

    /// Removes what was there before, the oldest first. All before the head has gone.
    async fn remove_stored(
        &mut self,
        cap: Cap,
        (held, head): (&mut Held, &mut u64),
        mut most: usize,
    ) -> Result<()> {
        let cid = self.collection.cid;
        let mut resume = Some(keys::order(cid, *head));
        let limits = ScanLimits {
            items_max: STEP_ITEMS,
            bytes_max: STEP_BYTES,
        };
        while let (true, Some(from)) = (held.is_over(cap), resume.take()) {
            let page = self
                .view
                .scan(
                    &self.collection,
                    &ItemRange::Everything,
                    Some(&from),
                    limits,
                )
                .await?;
            resume = page.resume;
            for (key, live) in page.items {
                if !held.is_over(cap) || most == 0 {
                    return Ok(());
                }
                most -= 1;
                let Some((partition, _)) = keys::address_of(&self.collection, &key) else {
                    continue;
                };
                *held = self
                    .remove(&key, &partition, live.header().charged, *held)
                    .await?;
                *head = live.header().ordinal + 1;
            }
        }
        Ok(())
    }

    async fn remove(
        &mut self,
        key: &ItemKey,
        partition: &PartitionKey,
        charged: u32,
        held: Held,
    ) -> Result<Held> {
        let known = self.slots.find(key);
        let held = match known.map(|at| &self.slots[at].after) {
            // What this transaction has made anew under an old key stands at the end.
            Some(After::Gone | After::Put { fresh: true, .. }) => return Ok(held),
            Some(After::Put { body, .. }) => held.without(length(body)),
            Some(After::Same) | None => held.without(u64::from(charged)),
        };
        self.delete(key, partition).await?;
        Ok(held)
    }

    /// Removes what this transaction itself has added, if it has added more than fits.
    fn remove_own(&mut self, cap: Cap, held: &mut Held) {
        let mut own: Vec<(u32, usize)> = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| matches!(slot.after, After::Put { fresh: true, .. }))
            .map(|(at, slot)| (slot.order, at))
            .collect();
        own.sort_unstable();
        for (_, at) in own {
            if !held.is_over(cap) {
                return;
            }
            let slot = &mut self.slots[at];
            if let After::Put { body, .. } = &slot.after {
                *held = held.without(length(body));
            }
            slot.after = After::Gone;
        }
    }
}

fn length(body: &[u8]) -> u64 {
    u64::try_from(body.len()).unwrap_or(u64::MAX)
}
