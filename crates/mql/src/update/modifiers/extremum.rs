//! `$min` and `$max`: the value if it is below, or above, what is there.

use std::cmp::Ordering;
use std::sync::Arc;

use lapsedb_value::Value;
use lapsedb_value::order::compare_bson;

use super::Outcome;
use crate::collation::Collation;

/// A value, and on which side of it the other one wins.
#[derive(Clone, Debug)]
pub(crate) struct Extremum {
    value: Value,
    wanted: Ordering,
    collation: Option<Arc<Collation>>,
}

impl Extremum {
    pub(crate) fn min(value: &Value, collation: Option<&Arc<Collation>>) -> Extremum {
        Extremum {
            value: value.clone(),
            wanted: Ordering::Less,
            collation: collation.cloned(),
        }
    }

    pub(crate) fn max(value: &Value, collation: Option<&Arc<Collation>>) -> Extremum {
        Extremum {
            value: value.clone(),
            wanted: Ordering::Greater,
            collation: collation.cloned(),
        }
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn existing(&self, value: &mut Value) -> Outcome {
        let order = match &self.collation {
            Some(collation) => compare_bson(&collation.fold(&self.value), &collation.fold(value)),
            None => compare_bson(&self.value, value),
        };
        match order == self.wanted {
            true => {
                *value = self.value.clone();
                Outcome::Changed
            }
            false => Outcome::Same,
        }
    }
}
