//! The records a transaction has touched, found by their keys.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use super::Slot;
use crate::keys::ItemKey;

/// Up to so many records are looked through; more are found by a map, which single writes need not pay for.
const LOOKED_THROUGH_MAX: usize = 16;

/// Touched records in the order in which they were touched first.
#[derive(Default)]
pub(super) struct Slots {
    all: Vec<Slot>,
    /// Where each lies, once there are many.
    places: HashMap<ItemKey, usize>,
}

impl Slots {
    /// Where a record lies, if it was touched.
    pub(super) fn find(&self, key: &ItemKey) -> Option<usize> {
        if self.all.len() <= LOOKED_THROUGH_MAX {
            return self.all.iter().position(|slot| slot.key == *key);
        }
        self.places.get(key).copied()
    }

    /// Adds a record that was not touched before.
    pub(super) fn push(&mut self, slot: Slot) -> usize {
        let place = self.all.len();
        self.all.push(slot);
        if self.all.len() > LOOKED_THROUGH_MAX {
            let known = self.places.len();
            let new = self.all.iter().enumerate().skip(known);
            self.places
                .extend(new.map(|(place, slot)| (slot.key.clone(), place)));
        }
        place
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Slot> {
        self.all.iter()
    }

    pub(super) fn into_all(self) -> Vec<Slot> {
        self.all
    }
}

impl Index<usize> for Slots {
    type Output = Slot;

    fn index(&self, place: usize) -> &Slot {
        &self.all[place]
    }
}

impl IndexMut<usize> for Slots {
    fn index_mut(&mut self, place: usize) -> &mut Slot {
        &mut self.all[place]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::partition_key::PartitionKey;
    use crate::txn::After;

    #[test]
    fn each_is_found_where_it_was_put_however_many_there_are() {
        let key = |number: usize| ItemKey::from_bytes(&number.to_be_bytes());
        let mut slots = Slots::default();
        for number in 0..3 * LOOKED_THROUGH_MAX {
            assert_eq!(slots.find(&key(number)), None);
            let place = slots.push(Slot {
                key: key(number),
                partition: PartitionKey::new([]),
                before: None,
                after: After::Same,
                order: 0,
                note: Vec::new(),
                past: Vec::new(),
            });
            assert_eq!(place, number);
            assert!((0..=number).all(|one| slots.find(&key(one)) == Some(one)));
        }
    }
}
