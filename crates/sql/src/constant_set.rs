//! Long lists of constants, found by their hash.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use lapsedb_value::Value;
use lapsedb_value::order::{deep_equal, hash_into};

use crate::plan::Expr;

/// Lists shorter than this are compared one by one.
const LENGTH_MIN: usize = 8;

/// Where in a list of constants a value stands.
#[derive(Clone, Debug)]
pub struct ConstantSet {
    places: HashMap<u64, Vec<usize>>,
}

impl ConstantSet {
    /// The set of a list, if it is long and has constants only.
    pub(crate) fn of(list: &[Expr]) -> Option<ConstantSet> {
        if list.len() < LENGTH_MIN {
            return None;
        }
        let mut places: HashMap<u64, Vec<usize>> = HashMap::with_capacity(list.len());
        for (place, item) in list.iter().enumerate() {
            let value = item.constant()?;
            if !value.is_undefined() {
                places.entry(hash(value)).or_default().push(place);
            }
        }
        Some(ConstantSet { places })
    }

    /// Whether the list that the set was made of has the value. NaN is in no list, for it equals nothing.
    pub(crate) fn contains(&self, list: &[Expr], value: &Value) -> bool {
        if matches!(value, Value::Double(n) if n.is_nan()) {
            return false;
        }
        let candidates = self
            .places
            .get(&hash(value))
            .map(Vec::as_slice)
            .unwrap_or_default();
        candidates
            .iter()
            .filter_map(|place| list.get(*place)?.constant())
            .any(|item| deep_equal(item, value))
    }
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_into(value, &mut hasher);
    hasher.finish()
}
