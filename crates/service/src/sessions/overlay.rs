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

/// All changes of a transaction in a collection. It is copied when a statement adds to it that still reads it, so its parts
/// are shared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    changes: Vec<Arc<Change>>,
    by_id: HashMap<Arc<DocumentId>, usize>,
    /// Every change with its place in the transaction.
    steps: Vec<(u32, Arc<Change>)>,
}

impl Overlay {
    /// The change of a document, if there is one.
    pub(crate) fn of(&self, id: &DocumentId) -> Option<&Change> {
        let change = self.changes.get(*self.by_id.get(id)?)?;
        Some(change)
    }

    /// All changes, in the order they were first made.
    pub(crate) fn changes(&self) -> &[Arc<Change>] {
        &self.changes
    }

    /// Every change, in order, with its place among those of all collections.
    pub(crate) fn steps(&self) -> &[(u32, Arc<Change>)] {
        &self.steps
    }

    /// Adds changes, the first of which has this place in the transaction.
    pub(crate) fn absorb(&mut self, changes: Vec<Change>, first: u32) {
        for (order, change) in (first..).zip(changes) {
            self.steps.push((order, Arc::new(change.clone())));
            match self.by_id.get(&change.id) {
                Some(at) => {
                    if let Some(old) = self.changes.get_mut(*at) {
                        // What is new in the transaction stays new, whatever else happens to it.
                        let fresh = old.fresh || change.fresh;
                        *old = Arc::new(Change { fresh, ..change });
                    }
                }
                None => {
                    let id = Arc::new(change.id.clone());
                    self.by_id.insert(id, self.changes.len());
                    self.changes.push(Arc::new(change));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use lapsedb_value::Value;

    use super::*;

    fn change(id: i32, fresh: bool, lives: bool) -> Change {
        Change {
            id: DocumentId::of(&Value::Int32(id)),
            document: lives.then(|| Arc::new(Object::new())),
            fresh,
            described: Described::Whole,
        }
    }

    #[test]
    fn a_document_keeps_its_place_and_stays_new() {
        let mut overlay = Overlay::default();
        overlay.absorb(vec![change(1, true, true), change(2, false, true)], 0);
        let before = overlay.clone();
        overlay.absorb(vec![change(2, false, false), change(1, false, true)], 2);
        let places: Vec<_> = overlay.steps().iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [0, 1, 2, 3]);
        let shown: Vec<_> = overlay
            .changes()
            .iter()
            .map(|change| (change.fresh, change.document.is_some()))
            .collect();
        assert_eq!(shown, [(true, true), (false, false)]);
        let two = DocumentId::of(&Value::Int64(2));
        assert!(overlay.of(&two).unwrap().document.is_none());
        assert!(
            before.of(&two).unwrap().document.is_some(),
            "a copy is its own"
        );
        assert!(overlay.of(&DocumentId::of(&Value::Int32(3))).is_none());
    }
}
