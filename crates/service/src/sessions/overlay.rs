//! What a transaction has changed in one collection, in order.

use std::collections::HashMap;
use std::sync::Arc;

use lapsedb_mql::update::Described;
use lapsedb_value::Object;

use crate::documents::id::DocumentId;

/// One document's change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) id: DocumentId,
    /// What it becomes; nothing, if it is deleted.
    pub(crate) document: Option<Arc<Object>>,
    /// It was not there before, or had been deleted: it comes last in the order.
    pub(crate) fresh: bool,
    /// How it became what it is.
    pub(crate) described: Described,
}

impl Change {
    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let document = self.document.as_deref();
        document.map_or(0, |document| crate::cursors::encoded(document).len())
    }
}

/// All changes of a transaction in a collection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    changes: Vec<Change>,
    by_id: HashMap<DocumentId, usize>,
    /// Every change with its place in the transaction.
    steps: Vec<(u32, Change)>,
}

impl Overlay {
    /// The change of a document, if there is one.
    pub(crate) fn of(&self, id: &DocumentId) -> Option<&Change> {
        self.changes.get(*self.by_id.get(id)?)
    }

    /// All changes, in the order they were first made.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Every change, in order, with its place among those of all collections.
    pub(crate) fn steps(&self) -> &[(u32, Change)] {
        &self.steps
    }

    /// Adds changes, the first of which has this place in the transaction.
    pub(crate) fn absorb(&mut self, changes: Vec<Change>, first: u32) {
        for (order, change) in (first..).zip(changes) {
            self.steps.push((order, change.clone()));
            match self.by_id.get(&change.id) {
                Some(at) => {
                    if let Some(old) = self.changes.get_mut(*at) {
                        // What is new in the transaction stays new, whatever else happens to it.
                        let fresh = old.fresh || change.fresh;
                        *old = Change { fresh, ..change };
                    }
                }
                None => {
                    self.by_id.insert(change.id.clone(), self.changes.len());
                    self.changes.push(change);
                }
            }
        }
    }
}
