//! Arrays as sets, by deep equality.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use lapsedb_value::Value;
use lapsedb_value::order::{deep_equal, hash_into};

/// An element compared deeply.
pub(crate) struct Element<'a>(&'a Value);

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        deep_equal(self.0, other.0)
    }
}

impl Eq for Element<'_> {}

impl Hash for Element<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_into(self.0, state);
    }
}

/// The distinct elements.
pub(crate) fn of(items: &[Value]) -> HashSet<Element<'_>> {
    items.iter().map(Element).collect()
}

/// Whether the set has the value.
pub(crate) fn has(set: &HashSet<Element<'_>>, value: &Value) -> bool {
    set.contains(&Element(value))
}

/// Each element once, in the order they come.
pub(crate) fn distinct<'a>(items: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut seen = HashSet::new();
    items
        .filter(|item| seen.insert(Element(item)))
        .cloned()
        .collect()
}
