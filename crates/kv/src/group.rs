//! The batches that one write takes together, and what each of them sees of those before it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::batch::{Batch, Expect, Op, tally};
use crate::engine::{CommitError, EngineError, Millis, Space, Stamp};

/// One change, its fills written.
#[derive(Debug)]
pub(crate) enum Change {
    Put {
        space: Space,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Delete {
        space: Space,
        key: Vec<u8>,
    },
    Add {
        space: Space,
        key: Vec<u8>,
        items: i64,
        bytes: i64,
    },
    DeleteRange {
        space: Space,
        from: Vec<u8>,
        to: Vec<u8>,
    },
}

/// The state that was committed before the group.
pub(crate) trait View: Send + Sync + 'static {
    type Slice: AsRef<[u8]>;
    fn mark(&self) -> Mark;
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Self::Slice>, EngineError>;
}

/// The newest commit: where the order and the time stand.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub(crate) struct Mark {
    pub stamp: Stamp,
    pub now: Millis,
}

/// Collects changes in commit order. An index over them answers the checks of later batches;
/// it is kept only while there are later batches.
pub(crate) struct Group<'v, V> {
    view: &'v V,
    changes: Vec<Change>,
    /// Hash of space and key to the newest change with that hash, and for every change the one
    /// before it with the same hash. Keys are compared, so a collision only costs a step.
    newest: HashMap<u64, usize>,
    previous: Vec<Option<usize>>,
    ranges: Vec<usize>,
    hasher: RandomState,
    indexed: usize,
}

impl<'v, V: View> Group<'v, V> {
    pub fn new(view: &'v V) -> Self {
        Group {
            view,
            changes: Vec::new(),
            newest: HashMap::new(),
            previous: Vec::new(),
            ranges: Vec::new(),
            hasher: RandomState::new(),
            indexed: 0,
        }
    }

    /// Takes the batch in if its conditions hold; otherwise leaves no trace of it.
    pub fn admit(&mut self, batch: Batch, stamp: Stamp, now: Millis) -> Result<(), CommitError> {
        if batch.not_after.is_some_and(|limit| now >= limit) {
            return Err(CommitError::TooLate);
        }
        if !batch.checks.is_empty() {
            self.index();
        }
        // Nothing becomes a record but by a commit; so what was absent in the newest state still is.
        let newest = self.changes.is_empty().then(|| self.view.mark().stamp);
        let absent = batch.absent_at.is_some() && batch.absent_at == newest;
        for check in &batch.checks {
            if absent && check.space == Space::Items && check.expect == Expect::Absent {
                continue;
            }
            if !check
                .expect
                .holds(self.value(check.space, &check.key)?.as_deref())
            {
                return Err(CommitError::Conflict);
            }
        }
        self.changes
            .extend(batch.ops.into_iter().map(|op| finish(op, stamp, now)));
        Ok(())
    }

    /// Adds a put of the engine's own.
    pub fn put(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) {
        self.changes.push(Change::Put { space, key, value });
    }

    /// The changes in order; additions to the same sum are one, where nothing lies between them.
    pub fn into_changes(self) -> Vec<Change> {
        let mut sums: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut folded = Vec::with_capacity(self.changes.len());
        for change in self.changes {
            match &change {
                Change::Add {
                    key, items, bytes, ..
                } => {
                    if let Some(Change::Add {
                        items: i, bytes: b, ..
                    }) = sums.get(key).and_then(|at| folded.get_mut(*at))
                    {
                        (*i, *b) = tally::sum((*i, *b), (*items, *bytes));
                        continue;
                    }
                    sums.insert(key.clone(), folded.len());
                }
                Change::Put { space, .. }
                | Change::Delete { space, .. }
                | Change::DeleteRange { space, .. } => {
                    if *space == Space::Tally {
                        sums.clear();
                    }
                }
            }
            folded.push(change);
        }
        folded
    }

    /// Brings the index up to date with the changes.
    fn index(&mut self) {
        for at in self.indexed..self.changes.len() {
            let previous = match &self.changes[at] {
                Change::Put { space, key, .. }
                | Change::Delete { space, key }
                | Change::Add { space, key, .. } => {
                    let hash = self.hasher.hash_one((*space, key.as_slice()));
                    self.newest.insert(hash, at)
                }
                Change::DeleteRange { .. } => {
                    self.ranges.push(at);
                    None
                }
            };
            self.previous.push(previous);
        }
        self.indexed = self.changes.len();
    }

    /// The value of a key after the changes so far: walks back through the changes of that key
    /// to the one that settles it, adding up sums on the way.
    fn value(&self, space: Space, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>, EngineError> {
        let cleared = self
            .ranges
            .iter()
            .rev()
            .copied()
            .find(|at| self.changes[*at].clears(space, key));
        let mut at = self
            .newest
            .get(&self.hasher.hash_one((space, key)))
            .copied();
        let mut added: Option<(i64, i64)> = None;
        let base = loop {
            let Some(index) = at.filter(|index| cleared.is_none_or(|cleared| *index > cleared))
            else {
                break if cleared.is_some() {
                    None
                } else {
                    self.stored(space, key)?
                };
            };
            match &self.changes[index] {
                Change::Put {
                    space: s,
                    key: k,
                    value,
                } if *s == space && k == key => {
                    break Some(Cow::Borrowed(value.as_slice()));
                }
                Change::Delete { space: s, key: k } if *s == space && k == key => break None,
                Change::Add {
                    space: s,
                    key: k,
                    items,
                    bytes,
                } if *s == space && k == key => {
                    added = Some(tally::sum(added.unwrap_or_default(), (*items, *bytes)));
                }
                // Another key with the same hash.
                Change::Put { .. }
                | Change::Delete { .. }
                | Change::Add { .. }
                | Change::DeleteRange { .. } => {}
            }
            at = self.previous[index];
        };
        if space != Space::Tally {
            return Ok(base);
        }
        let old = base.as_deref().map_or(Some((0, 0)), tally::decode);
        let old = old.ok_or_else(|| EngineError::Corrupt("a sum is not two numbers".to_owned()))?;
        let (items, bytes) = tally::sum(old, added.unwrap_or_default());
        Ok(((items, bytes) != (0, 0)).then(|| Cow::Owned(tally::encode(items, bytes).to_vec())))
    }

    fn stored(&self, space: Space, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>, EngineError> {
        Ok(self
            .view
            .get(space, key)?
            .map(|value| Cow::Owned(value.as_ref().to_vec())))
    }
}

impl Change {
    /// Bytes of its keys and value.
    #[cfg(feature = "rocksdb")]
    pub fn bytes(&self) -> usize {
        match self {
            Change::Put { key, value, .. } => key.len() + value.len(),
            Change::Delete { key, .. } => key.len(),
            Change::Add { key, .. } => key.len() + tally::BYTES,
            Change::DeleteRange { from, to, .. } => from.len() + to.len(),
        }
    }

    fn clears(&self, in_space: Space, key: &[u8]) -> bool {
        match self {
            Change::DeleteRange { space, from, to } => {
                *space == in_space && from.as_slice() <= key && key < to.as_slice()
            }
            Change::Put { .. } | Change::Delete { .. } | Change::Add { .. } => false,
        }
    }
}

fn finish(op: Op, stamp: Stamp, now: Millis) -> Change {
    match op {
        Op::Put { space, key, value } => Change::Put {
            space,
            key: key.finish(stamp, now),
            value: value.finish(stamp, now),
        },
        Op::Delete { space, key } => Change::Delete { space, key },
        Op::Add {
            space,
            key,
            items,
            bytes,
        } => Change::Add {
            space,
            key: key.finish(stamp, now),
            items,
            bytes,
        },
        Op::DeleteRange { space, from, to } => Change::DeleteRange { space, from, to },
    }
}
