//! `$addToSet`: elements into an array that has no equal ones.

use std::sync::Arc;

use lapsedb_value::Value;
use lapsedb_value::bson::type_name;

use super::Outcome;
use super::pull_all::equal;
use crate::collation::Collation;
use crate::show::show_value;
use crate::update::apply::Apply;
use crate::{MqlError, Result};

/// The elements to be there, none of them twice.
#[derive(Clone, Debug)]
pub(crate) struct AddToSet {
    values: Vec<Value>,
    collation: Option<Arc<Collation>>,
}

impl AddToSet {
    pub(crate) fn parse(argument: &Value, collation: Option<&Arc<Collation>>) -> Result<AddToSet> {
        let first = argument.as_object().and_then(|object| object.iter().next());
        let given = match first {
            Some((name, each)) if name == "$each" => {
                if argument.as_object().is_some_and(|object| object.len() > 1) {
                    return Err(MqlError::bad_value(format!(
                        "Found unexpected fields after $each in $addToSet: {}",
                        show_value(argument)
                    )));
                }
                each.as_array().ok_or_else(|| {
                    MqlError::type_mismatch(format!(
                        "The argument to $each in $addToSet must be an array but it was of type {}",
                        type_name(each)
                    ))
                })?
            }
            Some(_) | None => std::slice::from_ref(argument),
        };
        let mut add = AddToSet {
            values: Vec::with_capacity(given.len()),
            collation: collation.cloned(),
        };
        for value in given {
            if !add.contains(&add.values, value) {
                add.values.push(value.clone());
            }
        }
        Ok(add)
    }

    pub(crate) fn existing(&self, value: &mut Value, apply: &Apply<'_>) -> Result<Outcome> {
        let Value::Array(elements) = value else {
            return Err(MqlError::bad_value(format!(
                "Cannot apply $addToSet to non-array field. Field named '{}' has non-array type {}",
                super::arithmetic::last_name(&apply.path()),
                type_name(value)
            )));
        };
        let before = elements.len();
        let new: Vec<Value> = self
            .values
            .iter()
            .filter(|value| !self.contains(elements, value))
            .cloned()
            .collect();
        elements.extend(new);
        Ok(match elements.len() == before {
            true => Outcome::Same,
            // Change streams are told the whole array, as MongoDB tells it.
            false => Outcome::Changed,
        })
    }

    pub(crate) fn missing(&self) -> Value {
        Value::Array(self.values.clone())
    }

    fn contains(&self, elements: &[Value], value: &Value) -> bool {
        let collation = self.collation.as_deref();
        elements.iter().any(|known| equal(known, value, collation))
    }
}
