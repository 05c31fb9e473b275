//! Which collections some work between requests has to look at: those that were written to or whose records were changed since it
//! last looked, and those whose time has come. All others cost nothing, however many they are.
//!
//! All of it is in memory and can be lost: after a start every collection counts as changed.

use std::collections::{BTreeSet, HashMap};

use lapsedb_record::Millis;
use lapsedb_store::{Catalog, Collection, CollectionId, Store};

/// What is to be looked at when.
#[derive(Default)]
pub(crate) struct Agenda {
    /// The newest change of the catalog that was seen.
    epoch: u64,
    /// What to ask the store for new commits with.
    asked: u64,
    entries: HashMap<CollectionId, Entry>,
    by_time: BTreeSet<(Millis, CollectionId)>,
}

#[derive(Clone, Copy)]
struct Entry {
    at: Millis,
    /// Grows when something has happened that nobody has looked at yet.
    turn: u64,
}

/// A collection that is worth a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) cid: CollectionId,
    turn: u64,
}

/// When a collection that was written to is worth a look.
#[derive(Clone, Copy)]
pub(crate) enum Written {
    /// At once.
    Now,
    /// Not at once, but at this time at the latest.
    By(Millis),
}

impl Agenda {
    /// Takes notice of new commits, before the view is taken with which collections are looked at: so none is missed.
    pub(crate) fn hear_commits(&mut self, store: &Store, written: Written) {
        let (cids, asked) = store.written_since(self.asked);
        self.asked = asked;
        let at = match written {
            Written::Now => Millis(0),
            Written::By(at) => at,
        };
        for cid in cids {
            // What is not wanted has no entry, and what is new is among the changes of the catalog.
            if self.entries.contains_key(&cid) {
                self.put(cid, at);
            }
        }
    }

    /// Takes notice of changes of the catalog. Collections that are not `wanted` are none of its business.
    pub(crate) fn hear_catalog(&mut self, catalog: &Catalog, wanted: impl Fn(&Collection) -> bool) {
        for collection in catalog.changed_behind(self.epoch) {
            if wanted(&collection) {
                self.put(collection.cid, Millis(0));
            } else {
                self.remove(collection.cid);
            }
        }
        self.epoch = self.epoch.max(catalog.epoch);
    }

    /// Looks at a collection at a time, or earlier if that was planned already.
    fn put(&mut self, cid: CollectionId, at: Millis) {
        let known = self.entries.get(&cid).copied();
        let at = known.map_or(at, |known| known.at.min(at));
        let turn = known.map_or(0, |known| known.turn) + 1;
        self.set(cid, Entry { at, turn });
    }

    fn set(&mut self, cid: CollectionId, entry: Entry) {
        if let Some(before) = self.entries.insert(cid, entry) {
            self.by_time.remove(&(before.at, cid));
        }
        self.by_time.insert((entry.at, cid));
    }

    pub(crate) fn remove(&mut self, cid: CollectionId) {
        if let Some(before) = self.entries.remove(&cid) {
            self.by_time.remove(&(before.at, cid));
        }
    }

    /// Those whose time has come. They stay due until [`Agenda::plan`] says when to look again.
    pub(crate) fn due(&self, now: Millis) -> Vec<Due> {
        let due = self.by_time.iter().take_while(|(at, _)| *at <= now);
        due.filter_map(|(_, cid)| {
            let turn = self.entries.get(cid)?.turn;
            Some(Due { cid: *cid, turn })
        })
        .collect()
    }

    /// Says when a collection that was looked at is worth the next look; whatever has happened to it meanwhile is not forgotten.
    pub(crate) fn plan(&mut self, due: Due, at: Millis) {
        if let Some(entry) = self.entries.get(&due.cid).copied()
            && entry.turn == due.turn
        {
            self.set(due.cid, Entry { at, ..entry });
        }
    }

    /// When the first collection is due that is not due yet.
    pub(crate) fn next(&self, now: Millis) -> Option<Millis> {
        let behind = Millis(now.0.saturating_add(1));
        let mut later = self.by_time.range((behind, CollectionId(0))..);
        later.next().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: CollectionId = CollectionId(1);
    const B: CollectionId = CollectionId(2);

    fn cids(due: &[Due]) -> Vec<CollectionId> {
        due.iter().map(|due| due.cid).collect()
    }

    #[test]
    fn a_collection_is_due_until_it_is_planned() {
        let mut agenda = Agenda::default();
        agenda.put(A, Millis(0));
        agenda.put(B, Millis(50));
        let due = agenda.due(Millis(10));
        assert_eq!(cids(&due), [A]);
        assert_eq!(agenda.due(Millis(10)), due);
        agenda.plan(due[0], Millis(30));
        assert!(agenda.due(Millis(29)).is_empty());
        assert_eq!(agenda.next(Millis(29)), Some(Millis(30)));
        assert_eq!(cids(&agenda.due(Millis(50))), [A, B]);
        agenda.remove(A);
        assert_eq!(cids(&agenda.due(Millis(50))), [B]);
        assert_eq!(agenda.next(Millis(50)), None);
    }

    #[test]
    fn what_happens_during_a_look_is_looked_at_again() {
        let mut agenda = Agenda::default();
        agenda.put(A, Millis(0));
        let first = agenda.due(Millis(10));
        agenda.put(A, Millis(0));
        agenda.plan(first[0], Millis(100));
        let second = agenda.due(Millis(10));
        assert_eq!(cids(&second), [A]);
        agenda.plan(second[0], Millis(100));
        assert!(agenda.due(Millis(10)).is_empty());
    }
}
