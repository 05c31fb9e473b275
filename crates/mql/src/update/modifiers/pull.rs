//! `$pull`: takes elements that fulfil a condition out of an array.

use std::sync::Arc;

use lapsedb_value::{Object, Value};

use super::Outcome;
use super::pull_all::equal;
use crate::collation::Collation;
use crate::filter::parse::is_field_operator;
use crate::filter::{Filter, Options};
use crate::{MqlError, Result};

/// Which elements must go.
#[derive(Clone, Debug)]
pub(crate) enum Pull {
    /// Objects that fulfil a filter.
    Objects(Filter),
    /// Elements that fulfil operators or a pattern.
    Values(Filter),
    /// Elements that equal a value.
    Equal(Value, Option<Arc<Collation>>),
}

/// What elements are called in a filter that speaks of them; it cannot be a member's name in one.
const ELEMENT: &str = "";

impl Pull {
    pub(crate) fn parse(argument: &Value, options: &Options) -> Result<Pull> {
        let operators = match argument {
            Value::Object(object) => object
                .keys()
                .next()
                .is_some_and(|name| is_field_operator(name)),
            Value::Regex { .. } => true,
            _ => return Ok(Pull::Equal(argument.clone(), options.collation.clone())),
        };
        match (argument, operators) {
            (Value::Object(filter), false) => Filter::parse(filter, options).map(Pull::Objects),
            _ => {
                let mut wrapped = Object::new();
                wrapped.push(ELEMENT, argument.clone());
                Filter::parse(&wrapped, options).map(Pull::Values)
            }
        }
    }

    pub(crate) fn existing(&self, value: &mut Value) -> Result<Outcome> {
        let mut failed = None;
        let outcome = retain(value, |element| match self.takes(element) {
            Ok(takes) => !takes,
            Err(error) => {
                failed = Some(error);
                true
            }
        });
        match failed {
            Some(error) => Err(error),
            None => outcome,
        }
    }

    fn takes(&self, element: &Value) -> Result<bool> {
        match self {
            Pull::Objects(filter) => match element {
                Value::Object(object) => filter.matches(object),
                _ => Ok(false),
            },
            Pull::Values(filter) => filter.matches_named(ELEMENT, element),
            Pull::Equal(gone, collation) => Ok(equal(gone, element, collation.as_deref())),
        }
    }
}

/// Keeps some elements of an array.
pub(super) fn retain(value: &mut Value, keep: impl FnMut(&Value) -> bool) -> Result<Outcome> {
    let Value::Array(elements) = value else {
        return Err(MqlError::bad_value(
            "Cannot apply $pull to a non-array value",
        ));
    };
    let before = elements.len();
    elements.retain(keep);
    Ok(match elements.len() == before {
        true => Outcome::Same,
        false => Outcome::Changed,
    })
}
