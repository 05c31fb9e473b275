//! Arrays as sets, by deep equality. Results are in the order in which elements come.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use lapsedb_value::Value;
use lapsedb_value::order::{deep_equal, hash_into};

use crate::functions::args::{self, Args};

/// `SetUnion`: the distinct elements of both.
pub(crate) fn union(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::array(args, 0)?, args::array(args, 1)?);
    Some(distinct(a.iter().chain(b)))
}

/// `SetIntersect`: those of the first that the second has.
pub(crate) fn intersect(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::array(args, 0)?, args::array(args, 1)?);
    let within = of(b);
    Some(distinct(
        a.iter().filter(|item| within.contains(&Element(item))),
    ))
}

/// `SetDifference`: those of the first that the second lacks.
pub(crate) fn difference(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::array(args, 0)?, args::array(args, 1)?);
    let without = of(b);
    Some(distinct(
        a.iter().filter(|item| !without.contains(&Element(item))),
    ))
}

/// `SetEqual`: whether both have the same distinct elements.
pub(crate) fn equal(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::array(args, 0)?, args::array(args, 1)?);
    Some(Value::Bool(of(a) == of(b)))
}

/// An element compared deeply.
struct Element<'a>(&'a Value);

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

fn of(items: &[Value]) -> HashSet<Element<'_>> {
    items.iter().map(Element).collect()
}

/// Each element once, in the order they come.
fn distinct<'a>(items: impl Iterator<Item = &'a Value>) -> Value {
    let mut seen = HashSet::new();
    let distinct = items.filter(|item| seen.insert(Element(item))).cloned();
    Value::Array(distinct.collect())
}
