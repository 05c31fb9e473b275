//! Up to where a collection's dead are settled: stored beside its definition, and shown to the engine's judge.
//!
//! A record of its own, so that settling does not count as a change of the collection and no writer has to begin again for
//! it, but for those who touch a dead record.

use std::sync::Arc;

use arc_swap::ArcSwap;
use lapsedb_kv::{Expect, Judge, Scan, Snapshot, Space, Verdict};
use lapsedb_record::{Secs, Settled};
use rpds::HashTrieMapSync;

use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, MetaKind};
use crate::usage::Tally;

/// The format this version writes.
const FORMAT: u8 = 1;

/// What is stored of a collection's settling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// The marks.
    pub(crate) settled: Settled,
    /// What was settled and may still lie on the disk: since the collection was last rewritten whole.
    pub(crate) unswept: Tally,
    /// The second in which the first of it was settled.
    pub(crate) since: Secs,
}

impl Ledger {
    /// Reads a collection's ledger; an empty one, if nothing was ever settled.
    pub(crate) async fn load(snapshot: &impl Snapshot, cid: CollectionId) -> Result<Ledger> {
        match snapshot.get(Space::Meta, &key(cid)).await? {
            Some(bytes) => Ledger::read(bytes.as_ref()),
            None => Ok(Ledger::default()),
        }
    }

    /// Demands at a commit that the ledger is still this one.
    pub(crate) fn unchanged(&self) -> Expect {
        if *self == Ledger::default() {
            Expect::Absent
        } else {
            Expect::StartsWith(self.bytes())
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        for mark in [self.settled.written, self.settled.due] {
            bytes.push(u8::from(mark.is_some()));
            bytes.extend_from_slice(&mark.unwrap_or_default().0.to_be_bytes());
        }
        for number in [self.unswept.items, self.unswept.bytes, self.since.0] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Ledger> {
        Ledger::parse(bytes)
            .ok_or_else(|| StoreError::Corrupt("a ledger of settled items cannot be read".into()))
    }

    fn parse(bytes: &[u8]) -> Option<Ledger> {
        let (format, rest) = bytes.split_first()?;
        if *format != FORMAT {
            return None;
        }
        let mut rest = rest;
        let mut mark = || {
            let (is_set, after) = rest.split_first()?;
            let (second, after) = after.split_first_chunk::<8>()?;
            rest = after;
            Some((*is_set != 0).then_some(Secs(u64::from_be_bytes(*second))))
        };
        let (written, due) = (mark()?, mark()?);
        let mut number = || {
            let (number, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            Some(u64::from_be_bytes(*number))
        };
        Some(Ledger {
            settled: Settled { written, due },
            unswept: Tally {
                items: number()?,
                bytes: number()?,
            },
            since: Secs(number()?),
        })
    }
}

/// Where a collection's ledger stands.
pub(crate) fn key(cid: CollectionId) -> Vec<u8> {
    keys::meta_numbered(MetaKind::Settled, cid.0)
}

/// The marks of all collections, as the engine's judge knows them: only what is already durable.
#[derive(Default)]
pub(crate) struct Marks(ArcSwap<All>);

/// By collection. Maps that share what they have in common, so that a new mark costs the same with any number of collections.
type All = HashTrieMapSync<u32, Settled>;

impl Marks {
    /// Reads the marks of every collection: at the start.
    pub(crate) async fn load(&self, snapshot: &impl Snapshot) -> Result<()> {
        let scan = Scan::prefix(Space::Meta, &keys::meta_all(MetaKind::Settled));
        let mut all = All::default();
        for (key, value) in snapshot.scan(scan).await?.rows {
            if let Some(number) = key.get(1..).and_then(|rest| rest.first_chunk::<4>()) {
                // One that cannot be read allows nothing to be dropped; the purge of that collection reports it.
                if let Ok(ledger) = Ledger::read(&value) {
                    all.insert_mut(u32::from_be_bytes(*number), ledger.settled);
                }
            }
        }
        self.0.store(Arc::new(all));
        Ok(())
    }

    /// Shows the judge how far a collection is settled. Marks only grow, so the greater ones stay.
    pub(crate) fn show(&self, cid: CollectionId, settled: Settled) {
        self.0.rcu(|known| {
            let mut marks = known.get(&cid.0).copied().unwrap_or_default();
            marks.written = marks.written.max(settled.written);
            marks.due = marks.due.max(settled.due);
            known.insert(cid.0, marks)
        });
    }

    /// Forgets a collection that is gone.
    pub(crate) fn forget(&self, cid: CollectionId) {
        if self.0.load().contains_key(&cid.0) {
            self.0.rcu(|known| known.remove(&cid.0));
        }
    }
}

impl Judge for Marks {
    fn session(&self, space: Space) -> Option<Verdict> {
        let covers = match space {
            Space::Items => Settled::covers_record,
            Space::Log | Space::Due | Space::Order | Space::Index | Space::Unique => {
                Settled::covers_entry
            }
            // The catalog and sums have no marks; events go with their retention.
            Space::Meta | Space::Versions | Space::Tally => return None,
        };
        let known = self.0.load_full();
        if known.is_empty() {
            return None;
        }
        // Keys come in order, so the collection seldom changes.
        let mut last: Option<([u8; 4], Option<Settled>)> = None;
        Some(Box::new(move |key, value| {
            let Some(cid) = key.first_chunk::<4>() else {
                return false;
            };
            let settled = match last {
                Some((same, settled)) if same == *cid => settled,
                Some(_) | None => {
                    let settled = known.get(&u32::from_be_bytes(*cid)).copied();
                    last = Some((*cid, settled));
                    settled
                }
            };
            settled.is_some_and(|settled| covers(&settled, value))
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use lapsedb_record::{ItemTtl, Mark};

    use super::*;

    #[test]
    fn a_ledger_is_read_as_it_was_written() {
        for (written, due) in [(None, Some(Secs(0))), (Some(Secs(7)), None)] {
            let ledger = Ledger {
                settled: Settled { written, due },
                unswept: Tally { items: 3, bytes: 5 },
                since: Secs(9),
            };
            assert_eq!(Ledger::read(&ledger.bytes()).unwrap(), ledger);
        }
        assert!(Ledger::read(&[]).is_err());
        assert!(Ledger::read(&[2; 43]).is_err());
    }

    #[test]
    fn the_judge_condemns_by_the_entry_alone_and_spares_what_it_cannot_read() {
        let marks = Marks::default();
        assert!(marks.session(Space::Index).is_none());
        let settled = Settled {
            written: Some(Secs(10)),
            due: Some(Secs(20)),
        };
        marks.show(CollectionId(1), settled);
        assert!(marks.session(Space::Tally).is_none());
        let mut verdict = marks.session(Space::Index).unwrap();
        let entry = |ttl: ItemTtl, written: u64| {
            let mut bytes = Vec::new();
            Mark::undated(ttl, Secs(written)).write(&mut bytes);
            bytes
        };
        let key = [0, 0, 0, 1, 9, 9];
        for (ttl, written, condemned) in [
            (ItemTtl::Inherit, 10, true),
            (ItemTtl::Inherit, 11, false),
            (ItemTtl::After(Secs(5)), 15, true),
            (ItemTtl::After(Secs(5)), 16, false),
            (ItemTtl::Never, 0, false),
        ] {
            let bytes = entry(ttl, written);
            assert_eq!(verdict(&key, &bytes), condemned, "{ttl:?} of {written}");
            assert!(!verdict(&[0, 0, 0, 2, 9], &bytes), "another collection");
            assert!(!verdict(&[0, 0], &bytes), "not a key of ours");
        }
        let mut unknown = entry(ItemTtl::Inherit, 1);
        unknown[0] = 77;
        assert!(!verdict(&key, &unknown));
        assert!(!verdict(&key, b"short"));
        marks.forget(CollectionId(1));
        assert!(marks.session(Space::Index).is_none());
    }
}
