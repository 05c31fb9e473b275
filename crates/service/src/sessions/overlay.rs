//! What a transaction has changed in one collection, in order.

use std::collections::HashMap;
use std::sync::Arc;

use lapsedb_mql::update::Described;
use lapsedb_record::{Dates, Expiry, ItemTtl, Lens, Mark};
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
    /// The stored record that was live when this change was made; none, if there was none.
    pub(crate) base: Option<Mark>,
    /// The dates of what it becomes under the collection's date indexes.
    pub(crate) dates: Dates,
}

impl Change {
    /// Whether the change may still be committed: the stored record that it changes has not expired since.
    pub(crate) fn holds(&self, lens: &Lens) -> bool {
        self.base.as_ref().is_none_or(|base| lens.is_live(base))
    }

    /// When the transaction no longer sees what it becomes.
    pub(crate) fn expiry(&self, lens: &Lens) -> Expiry {
        let by_base = self
            .base
            .as_ref()
            .map_or(Expiry::Never, |base| lens.expiry(base));
        by_base.earlier(lens.dates.expiry(&self.dates))
    }

    /// The document as the transaction sees it at a time. A change of a record that has expired since shows nothing, because
    /// it cannot be committed. Its own ttl begins with the commit, so of what it becomes only a date can end it before.
    pub(crate) fn shown(&self, lens: &Lens) -> Option<&Arc<Object>> {
        let document = self.document.as_ref()?;
        let written = Mark {
            dates: self.dates.clone(),
            ..Mark::undated(ItemTtl::Never, lens.now.secs())
        };
        (self.holds(lens) && lens.is_live(&written)).then_some(document)
    }

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

    /// What became of each document, in the order they were first changed; one that was deleted and made anew comes with
    /// its new making, and leaves a deletion in its old place.
    pub(crate) fn changes(&self) -> &[Arc<Change>] {
        &self.changes
    }

    /// Every change, in order, with its place among those of all collections.
    pub(crate) fn steps(&self) -> &[(u32, Arc<Change>)] {
        &self.steps
    }

    /// The changes that must be done again, in order, to come to the same outcome: all but those that the next one writes
    /// over. Each of them finds what it found when it was made, so unique values pass from one document to another as they did.
    pub(crate) fn replayed(&self) -> impl Iterator<Item = &Change> {
        let next = self.steps.iter().skip(1).map(|(_, change)| Some(change));
        let pairs = self.steps.iter().zip(next.chain([None]));
        pairs.filter_map(|((_, change), next)| {
            let written_over = next.is_some_and(|next| {
                let both = change.document.is_some() && next.document.is_some();
                both && !next.fresh && next.id == change.id
            });
            (!written_over).then_some(&**change)
        })
    }

    /// Adds changes, the first of which has this place in the transaction.
    pub(crate) fn absorb(&mut self, changes: Vec<Change>, first: u32) {
        for (order, change) in (first..).zip(changes) {
            self.steps.push((order, Arc::new(change.clone())));
            let known = self.by_id.get(&change.id).copied();
            let old = known.and_then(|at| self.changes.get_mut(at));
            match old {
                Some(old) if !change.fresh => {
                    // What is new in the transaction stays new, whatever else happens to it.
                    let fresh = old.fresh;
                    *old = Arc::new(Change { fresh, ..change });
                }
                old => {
                    // Made anew, it comes last, as it does in the store.
                    if let Some(old) = old {
                        let gone = Change {
                            document: None,
                            ..Change::clone(old)
                        };
                        *old = Arc::new(gone);
                    }
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
            base: None,
            dates: Dates::new(),
        }
    }

    #[test]
    fn a_document_made_anew_comes_last() {
        let mut overlay = Overlay::default();
        overlay.absorb(vec![change(1, true, true), change(2, true, true)], 0);
        overlay.absorb(vec![change(1, true, false), change(1, true, true)], 2);
        let shown = |change: &Arc<Change>| change.document.as_ref().map(|_| change.id.clone());
        let shown: Vec<_> = overlay.changes().iter().filter_map(shown).collect();
        let id = |id| DocumentId::of(&Value::Int32(id));
        assert_eq!(shown, [id(2), id(1)]);
    }

    #[test]
    fn only_what_the_next_change_writes_over_is_left_out() {
        let mut overlay = Overlay::default();
        let changes = vec![
            change(1, true, true),
            change(1, false, true),
            change(2, false, true),
            change(1, false, true),
            change(1, false, false),
            change(1, true, true),
        ];
        overlay.absorb(changes, 0);
        let replayed: Vec<_> = overlay
            .replayed()
            .map(|change| (change.id.clone(), change.document.is_some()))
            .collect();
        let id = |id| DocumentId::of(&Value::Int32(id));
        let expected = [
            (id(1), true),
            (id(2), true),
            (id(1), true),
            (id(1), false),
            (id(1), true),
        ];
        assert_eq!(replayed, expected);
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
