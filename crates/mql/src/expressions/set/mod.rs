//! Arrays as sets: order and repetition do not matter.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use lapsedb_value::budget::{VALUE_BYTES, owned_bytes};
use lapsedb_value::{Budget, Value};

use super::Expr;
use super::form::{Args, Count, Form, Run, any_nullish, arguments, is_nullish};
use super::scope::Names;
use super::values::{compare, is_true, type_name};
use crate::{MqlError, Result};

pub(crate) mod all_elements_true;
pub(crate) mod any_element_true;
pub(crate) mod set_difference;
pub(crate) mod set_equals;
pub(crate) mod set_intersection;
pub(crate) mod set_is_subset;
pub(crate) mod set_union;

/// A value in the order of BSON, so that it can be a member of a sorted set.
#[derive(Clone, Copy)]
struct Ordered<'a>(&'a Value);

impl PartialEq for Ordered<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ordered<'_> {}

impl PartialOrd for Ordered<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.0, other.0)
    }
}

/// The elements, each once; of equal ones the first.
fn set_of(elements: &[Value]) -> BTreeSet<Ordered<'_>> {
    let mut set = BTreeSet::new();
    for element in elements {
        set.insert(Ordered(element));
    }
    set
}

/// Bytes that a member of a set takes, with its place in the set.
const NODE_BYTES: usize = 2 * VALUE_BYTES;

/// The same for operators that make a set of each of any number of arguments.
fn counted_set<'a>(elements: &'a [Value], budget: &Budget) -> Result<BTreeSet<Ordered<'a>>> {
    budget.charge(elements.len() * NODE_BYTES)?;
    Ok(set_of(elements))
}

fn to_array(set: BTreeSet<Ordered<'_>>) -> Value {
    Value::Array(set.into_iter().map(|member| member.0.clone()).collect())
}
