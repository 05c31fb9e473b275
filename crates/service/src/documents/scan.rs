//! Reads the entries of an index in order, a stretch at a time, and can go on later in another view.
//!
//! Several branches, each in order by itself, are merged by what follows their stems. Entries of one value come in the order of
//! creation whichever way the index is read, so that documents that are equal in the order asked for come as they were made.

use std::collections::{HashSet, VecDeque};

use lapsedb_store::index::scan::{Entry, EntryPage, EntrySpan};
use lapsedb_store::{Collection, ItemKey, View};

use crate::documents::fault::Result;

/// Entries read at once at least.
const STEP_ENTRIES_MIN: usize = 1;
/// Documents whose having been seen is remembered where no document has several entries: only one that was changed while it
/// was read can come twice there.
const SEEN_MAX: usize = 1 << 20;

/// An entry that waits to be looked at.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) item: ItemKey,
    pub(crate) ordinal: u64,
    /// The parts of its key.
    pub(crate) value: Vec<u8>,
    /// How many entries were passed to find it, itself counted.
    pub(crate) passed: u64,
}

/// A stretch of entries, and which way it is read.
#[derive(Clone, Debug)]
struct Piece {
    span: EntrySpan,
    reverse: bool,
}

/// Entries that share a beginning.
#[derive(Clone, Debug)]
struct Branch {
    /// How many bytes of their values all entries share.
    stem: usize,
    pieces: VecDeque<Piece>,
    ready: VecDeque<Hit>,
}

/// A way through an index.
#[derive(Clone, Debug)]
pub(crate) struct IndexScan {
    branches: Vec<Branch>,
    reverse: bool,
    /// Whether entries of one value come in the order of creation, also backward.
    steady: bool,
    /// Whether documents may have several entries.
    multikey: bool,
    seen: HashSet<u64>,
    /// Entries that were given back.
    again: VecDeque<Hit>,
    /// The last stretch that was given.
    given: Vec<Hit>,
}

impl IndexScan {
    /// A way through stretches of an index: each branch with the length of its stem, its spans in the order of keys.
    pub(crate) fn new(
        branches: Vec<(usize, Vec<EntrySpan>)>,
        reverse: bool,
        multikey: bool,
    ) -> IndexScan {
        let branch = |(stem, spans): (usize, Vec<EntrySpan>)| {
            let mut pieces: VecDeque<Piece> = spans
                .into_iter()
                .map(|span| Piece { span, reverse })
                .collect();
            if reverse {
                pieces.make_contiguous().reverse();
            }
            Branch {
                stem,
                pieces,
                ready: VecDeque::new(),
            }
        };
        IndexScan {
            branches: branches.into_iter().map(branch).collect(),
            reverse,
            steady: true,
            multikey,
            seen: HashSet::new(),
            again: VecDeque::new(),
            given: Vec::new(),
        }
    }

    /// All documents, the youngest first.
    pub(crate) fn youngest_first(collection: &Collection) -> IndexScan {
        let all = EntrySpan::everything(collection);
        IndexScan {
            steady: false,
            ..IndexScan::new(vec![(0, vec![all])], true, false)
        }
    }

    /// The next entries, at most so many; none at the end.
    pub(crate) async fn next(
        &mut self,
        view: &View,
        collection: &Collection,
        max: usize,
    ) -> Result<Vec<Hit>> {
        self.given.clear();
        let mut passed = 0;
        while self.given.len() < max {
            if let Some(hit) = self.again.pop_front() {
                self.given.push(hit);
                continue;
            }
            let room = max - self.given.len();
            let Some(mut hit) = self.pop(view, collection, room).await? else {
                break;
            };
            passed += 1;
            if self.is_new(hit.ordinal) {
                hit.passed = std::mem::take(&mut passed);
                self.given.push(hit);
            }
        }
        Ok(self.given.clone())
    }

    /// Gives the last stretch again from one of its entries on.
    pub(crate) fn back_to(&mut self, at: usize) {
        for hit in self.given.drain(at.min(self.given.len())..).rev() {
            self.again.push_front(hit);
        }
    }

    fn is_new(&mut self, ordinal: u64) -> bool {
        let full = !self.multikey && self.seen.len() >= SEEN_MAX;
        if full {
            !self.seen.contains(&ordinal)
        } else {
            self.seen.insert(ordinal)
        }
    }

    /// The next entry of all branches.
    async fn pop(
        &mut self,
        view: &View,
        collection: &Collection,
        room: usize,
    ) -> Result<Option<Hit>> {
        // Of several branches each may have to give but one.
        let step = match self.branches.len() {
            0 | 1 => room,
            several => (room / several).max(1),
        };
        let (mut best, steady): (Option<usize>, bool) = (None, self.steady);
        for at in 0..self.branches.len() {
            if let Some(branch) = self.branches.get_mut(at) {
                branch.fill(view, collection, (step, steady)).await?;
            }
            let Some(hit) = self.front(at) else { continue };
            let better = match best.and_then(|best| self.front(best)) {
                None => true,
                Some(other) if self.reverse => {
                    (other.0, std::cmp::Reverse(other.1)) < (hit.0, std::cmp::Reverse(hit.1))
                }
                Some(other) => hit < other,
            };
            if better {
                best = Some(at);
            }
        }
        let branch = best.and_then(|best| self.branches.get_mut(best));
        Ok(branch.and_then(|branch| branch.ready.pop_front()))
    }

    /// What a branch's next entry is compared by.
    fn front(&self, at: usize) -> Option<(&[u8], u64)> {
        let branch = self.branches.get(at)?;
        let hit = branch.ready.front()?;
        Some((
            hit.value.get(branch.stem..).unwrap_or_default(),
            hit.ordinal,
        ))
    }
}

impl Branch {
    /// Reads on until an entry is ready, or there is none.
    async fn fill(
        &mut self,
        view: &View,
        collection: &Collection,
        (step, steady): (usize, bool),
    ) -> Result<()> {
        let step = step.max(STEP_ENTRIES_MIN);
        while self.ready.is_empty() {
            let Some(Piece { span, reverse }) = self.pieces.pop_front() else {
                return Ok(());
            };
            let regroups = reverse && steady;
            // One more shows whether the last value is complete.
            let rows = step + usize::from(regroups);
            let page = view.entries(collection, span, reverse, rows).await?;
            if regroups {
                self.regroup(page);
            } else {
                self.take(&page.entries);
                self.put_back(page.rest, reverse);
            }
        }
        Ok(())
    }

    fn put_back(&mut self, rest: Option<EntrySpan>, reverse: bool) {
        if let Some(span) = rest {
            self.pieces.push_front(Piece { span, reverse });
        }
    }

    fn take(&mut self, entries: &[Entry]) {
        self.ready.extend(entries.iter().map(|entry| Hit {
            item: entry.item.clone(),
            ordinal: entry.ordinal,
            value: entry.value().to_vec(),
            passed: 1,
        }));
    }

    /// Takes entries that were read backward, those of one value in the order of creation.
    fn regroup(&mut self, page: EntryPage) {
        let groups: Vec<&[Entry]> = page
            .entries
            .chunk_by(|a, b| a.value() == b.value())
            .collect();
        let Some(rest) = page.rest else {
            for group in groups {
                self.take_backward(group);
            }
            return;
        };
        let Some((last, whole)) = groups.split_last() else {
            self.put_back(Some(rest), true);
            return;
        };
        let value = last.first().map(Entry::value).unwrap_or_default();
        for group in whole {
            self.take_backward(group);
        }
        if whole.is_empty() {
            // More entries have this value than were read: they are read forward by themselves.
            let group = rest.only(value);
            self.put_back(Some(rest.up_to(value, false)), true);
            self.put_back(Some(group), false);
        } else {
            self.put_back(Some(rest.up_to(value, true)), true);
        }
    }

    fn take_backward(&mut self, group: &[Entry]) {
        let first = self.ready.len();
        self.take(group);
        self.ready.make_contiguous()[first..].reverse();
    }
}
