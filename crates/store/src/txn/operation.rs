//! An operation of a transaction: applied whole, or not at all.
//!
//! One operation may take several steps, such as an item that gets another id: the old record is removed, the new one is put.
//! A later step may be refused, and in a bulk request the other operations are committed all the same. So the steps are
//! taken through an [`Operation`], which takes back what it has done unless it is kept. What it has read stays a condition of
//! the commit: the refusal relies on it.

use std::ops::{Deref, DerefMut};

use super::{After, Txn};

/// How to take back one step.
pub(super) enum Undo {
    /// What became of a record before the step.
    Changed {
        at: usize,
        after: After,
        order: u32,
        note: Vec<u8>,
        /// How many earlier changes of it were kept.
        past: usize,
    },
    /// Which record took a unique value before the step.
    Taken { key: Vec<u8>, was: Option<usize> },
}

/// Steps of a transaction that are kept together or taken back together; dropped without [`Operation::keep`], they are
/// taken back.
pub struct Operation<'t, 'a> {
    txn: &'t mut Txn<'a>,
    writes: u16,
    changes: u32,
}

impl<'a> Txn<'a> {
    /// Begins an operation.
    pub fn operation(&mut self) -> Operation<'_, 'a> {
        self.undo = Some(Vec::new());
        Operation {
            writes: self.writes,
            changes: self.changes,
            txn: self,
        }
    }
}

impl Operation<'_, '_> {
    /// Keeps what the operation has done, and the versions of earlier operations that it replaced or removed.
    pub fn keep(self) {
        for step in self.txn.undo.take().into_iter().flatten() {
            match step {
                Undo::Changed {
                    at,
                    after: after @ After::Put { .. },
                    ..
                } => self.txn.superseded.push((at, after)),
                Undo::Changed { .. } | Undo::Taken { .. } => {}
            }
        }
    }
}

impl Drop for Operation<'_, '_> {
    fn drop(&mut self) {
        let Some(undo) = self.txn.undo.take() else {
            return;
        };
        for step in undo.into_iter().rev() {
            match step {
                Undo::Changed {
                    at,
                    after,
                    order,
                    note,
                    past,
                } => {
                    let slot = &mut self.txn.slots[at];
                    slot.after = after;
                    slot.order = order;
                    slot.note = note;
                    slot.past.truncate(past);
                }
                Undo::Taken { key, was } => {
                    match was {
                        Some(slot) => self.txn.taken.insert(key, slot),
                        None => self.txn.taken.remove(&key),
                    };
                }
            }
        }
        self.txn.writes = self.writes;
        self.txn.changes = self.changes;
    }
}

impl<'a> Deref for Operation<'_, 'a> {
    type Target = Txn<'a>;

    fn deref(&self) -> &Txn<'a> {
        self.txn
    }
}

impl<'a> DerefMut for Operation<'_, 'a> {
    fn deref_mut(&mut self) -> &mut Txn<'a> {
        self.txn
    }
}
