//! `$set` and `$setOnInsert`: a value as given.

use lapsedb_value::Value;
use lapsedb_value::order::identical_bson;

use super::Outcome;

/// The value to be there.
#[derive(Clone, Debug)]
pub(crate) struct Set(Value);

impl Set {
    pub(crate) fn new(value: &Value) -> Set {
        Set(value.clone())
    }

    pub(crate) fn value(&self) -> &Value {
        &self.0
    }

    /// The same number in another kind, or another sign of zero, is a change.
    pub(crate) fn existing(&self, value: &mut Value) -> Outcome {
        replace(value, &self.0)
    }
}

/// Puts a value in the place of another, and says whether that is a change.
pub(super) fn replace(value: &mut Value, by: &Value) -> Outcome {
    match identical_bson(value, by) {
        true => Outcome::Same,
        false => {
            *value = by.clone();
            Outcome::Changed
        }
    }
}
