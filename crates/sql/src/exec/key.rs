//! Values as keys of hash tables: `1` is `1.0`, and members have no order.

use std::hash::{Hash, Hasher};

use lapsedb_value::Value;
use lapsedb_value::order::{deep_equal, hash_into};

/// A list of values compared deeply.
pub(crate) struct Key(pub Vec<Value>);

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| deep_equal(a, b))
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for value in &self.0 {
            hash_into(value, state);
        }
    }
}
