//! Which collections were written to lately, for whoever would otherwise have to look at each one there is.
//!
//! A commit is noted before it is made and once more when it is: so who takes a view first and asks then misses no commit that
//! the view has. Every engine there is belongs to one process, which makes all commits itself. What was written before this
//! process began is not known here, and whoever needs that looks at all.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use lapsedb_record::Secs;
use parking_lot::Mutex;

use crate::Store;
use crate::keys::CollectionId;

/// The collections with commits of this process.
#[derive(Default)]
pub(crate) struct Recent(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The newest commit as this process began.
    begun: u64,
    /// The second in which it began.
    begun_in: Secs,
    written: HashMap<CollectionId, Written>,
    /// Those written to since somebody last asked: the orders below are brought up to date only then.
    fresh: Vec<CollectionId>,
    /// How often somebody asked and found something new.
    asked: u64,
    by_asked: BTreeSet<(u64, CollectionId)>,
    by_commit: BTreeSet<(u64, CollectionId)>,
    /// Commits under way.
    under_way: HashMap<CollectionId, u32>,
}

#[derive(Default)]
struct Written {
    /// The newest commit.
    newest: u64,
    /// Its places in the two orders.
    placed: Option<(u64, u64)>,
    fresh: bool,
}

impl Inner {
    fn note(&mut self, cid: CollectionId, lsn: u64) {
        let written = self.written.entry(cid).or_default();
        written.newest = written.newest.max(lsn);
        if !std::mem::replace(&mut written.fresh, true) {
            self.fresh.push(cid);
        }
    }

    fn remove(&mut self, cid: CollectionId) {
        let placed = self.written.remove(&cid).and_then(|it| it.placed);
        self.unplace(cid, placed);
        self.fresh.retain(|other| *other != cid);
    }

    fn unplace(&mut self, cid: CollectionId, placed: Option<(u64, u64)>) {
        if let Some((asked, commit)) = placed {
            self.by_asked.remove(&(asked, cid));
            self.by_commit.remove(&(commit, cid));
        }
    }

    /// Puts what is fresh into the two orders.
    fn settle(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        self.asked += 1;
        for cid in std::mem::take(&mut self.fresh) {
            let Some(written) = self.written.get_mut(&cid) else {
                continue;
            };
            written.fresh = false;
            let place = (self.asked, written.newest);
            let before = written.placed.replace(place);
            self.unplace(cid, before);
            self.by_asked.insert((place.0, cid));
            self.by_commit.insert((place.1, cid));
        }
    }
}

/// A commit that is under way, or was given up when this is dropped.
pub(crate) struct UnderWay<C: IntoIterator<Item = CollectionId> + Clone> {
    recent: Arc<Recent>,
    collections: C,
}

impl<C: IntoIterator<Item = CollectionId> + Clone> UnderWay<C> {
    pub(crate) const fn collections(&self) -> &C {
        &self.collections
    }

    /// The commit was made.
    pub(crate) fn committed(&self, lsn: u64) {
        let mut inner = self.recent.0.lock();
        for cid in self.collections.clone() {
            inner.note(cid, lsn);
        }
    }
}

impl<C: IntoIterator<Item = CollectionId> + Clone> Drop for UnderWay<C> {
    fn drop(&mut self) {
        let mut inner = self.recent.0.lock();
        for cid in self.collections.clone() {
            if let Some(commits) = inner.under_way.get_mut(&cid) {
                *commits -= 1;
                if *commits == 0 {
                    inner.under_way.remove(&cid);
                }
            }
        }
    }
}

impl Recent {
    /// Says which commit was the newest as this process began, and when that was.
    pub(crate) fn begin(&self, lsn: u64, second: Secs) {
        let mut inner = self.0.lock();
        (inner.begun, inner.begun_in) = (lsn, second);
    }

    /// Notes a commit that is about to be made.
    pub(crate) fn under_way<C>(recent: &Arc<Recent>, collections: C) -> UnderWay<C>
    where
        C: IntoIterator<Item = CollectionId> + Clone,
    {
        let mut inner = recent.0.lock();
        for cid in collections.clone() {
            *inner.under_way.entry(cid).or_default() += 1;
        }
        drop(inner);
        UnderWay {
            recent: Arc::clone(recent),
            collections,
        }
    }

    /// Forgets a collection that is gone, and its versions with it.
    pub(crate) fn forget(&self, cid: CollectionId) {
        self.0.lock().remove(cid);
    }
}

impl Store {
    /// Collections that were written to since somebody asked this before, and what to ask with the next time. Collections that were
    /// dropped are among them.
    #[must_use]
    pub fn written_since(&self, asked: u64) -> (Vec<CollectionId>, u64) {
        let mut inner = self.recent.0.lock();
        inner.settle();
        let since = inner.by_asked.range((asked + 1, CollectionId(0))..);
        (since.map(|(_, cid)| *cid).collect(), inner.asked)
    }

    /// Every collection with a commit behind another that a view taken before this call has, and perhaps some more; none, if that is not
    /// known because the other was made before this process began.
    #[must_use]
    pub fn written_behind(&self, lsn: u64) -> Option<Vec<CollectionId>> {
        let mut inner = self.recent.0.lock();
        if lsn < inner.begun {
            return None;
        }
        inner.settle();
        let behind = inner.by_commit.range((lsn + 1, CollectionId(0))..);
        let mut all: Vec<_> = behind.map(|(_, cid)| *cid).collect();
        all.extend(inner.under_way.keys().copied());
        all.sort_unstable();
        all.dedup();
        Some(all)
    }

    /// The same for commits of a second or later.
    #[must_use]
    pub fn written_from(&self, second: Secs) -> Option<Vec<CollectionId>> {
        let (begun, begun_in) = {
            let inner = self.recent.0.lock();
            (inner.begun, inner.begun_in)
        };
        (second > begun_in)
            .then(|| self.written_behind(begun))
            .flatten()
    }

    /// Notes that what a collection holds has changed although nobody wrote to it.
    pub fn note_changed(&self, cid: CollectionId) {
        self.recent.0.lock().note(cid, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: CollectionId = CollectionId(1);
    const B: CollectionId = CollectionId(2);

    fn behind(recent: &Recent, lsn: u64) -> Vec<CollectionId> {
        let mut inner = recent.0.lock();
        inner.settle();
        let behind = inner.by_commit.range((lsn + 1, CollectionId(0))..);
        behind.map(|(_, cid)| *cid).collect()
    }

    #[test]
    fn a_collection_stands_at_its_newest_commit() {
        let recent = Arc::new(Recent::default());
        let commit = |cid, lsn| Recent::under_way(&recent, [cid]).committed(lsn);
        commit(A, 5);
        commit(B, 6);
        assert_eq!(behind(&recent, 4), [A, B]);
        commit(A, 7);
        assert_eq!(behind(&recent, 5), [B, A]);
        assert_eq!(behind(&recent, 6), [A]);
        assert_eq!(behind(&recent, 7), []);
        recent.forget(A);
        assert_eq!(behind(&recent, 0), [B]);
    }

    #[test]
    fn a_commit_under_way_is_known_until_it_is_made_or_given_up() {
        let recent = Arc::new(Recent::default());
        let (first, second) = (
            Recent::under_way(&recent, [A]),
            Recent::under_way(&recent, [A, B]),
        );
        assert_eq!(recent.0.lock().under_way.get(&A), Some(&2));
        drop(first);
        second.committed(9);
        assert_eq!(recent.0.lock().under_way.len(), 2);
        drop(second);
        assert!(recent.0.lock().under_way.is_empty());
        assert_eq!(behind(&recent, 8), [A, B]);
    }
}
