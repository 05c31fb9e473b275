//! `$pullAll`: takes elements that equal one of a list out of an array.

use std::sync::Arc;

use lapsedb_value::Value;
use lapsedb_value::bson::type_name;
use lapsedb_value::order::equal_bson;

use super::Outcome;
use super::pull::retain;
use crate::collation::Collation;
use crate::{MqlError, Result};

/// The elements that must go.
#[derive(Clone, Debug)]
pub(crate) struct PullAll {
    values: Vec<Value>,
    collation: Option<Arc<Collation>>,
}

impl PullAll {
    pub(crate) fn parse(argument: &Value, collation: Option<&Arc<Collation>>) -> Result<PullAll> {
        match argument {
            Value::Array(values) => Ok(PullAll {
                values: values.clone(),
                collation: collation.cloned(),
            }),
            other => Err(MqlError::bad_value(format!(
                "$pullAll requires an array argument but was given a {}",
                type_name(other)
            ))),
        }
    }

    pub(crate) fn existing(&self, value: &mut Value) -> Result<Outcome> {
        let collation = self.collation.as_deref();
        retain(value, |element| {
            !self
                .values
                .iter()
                .any(|gone| equal(gone, element, collation))
        })
    }
}

/// Whether two values are equal, text as its collation has it.
pub(super) fn equal(a: &Value, b: &Value, collation: Option<&Collation>) -> bool {
    match collation {
        Some(collation) => equal_bson(&collation.fold(a), &collation.fold(b)),
        None => equal_bson(a, b),
    }
}
