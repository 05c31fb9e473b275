//! `$pop`: takes the first or the last element out of an array.

use lapsedb_value::Value;
use lapsedb_value::bson::type_name;

use super::Outcome;
use super::arithmetic::is_number;
use crate::filter::operators::integer::whole;
use crate::show::{show_element, show_value};
use crate::update::apply::Apply;
use crate::{MqlError, Result};

/// Which end loses an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pop {
    First,
    Last,
}

impl Pop {
    pub(crate) fn parse(path: &str, argument: &Value) -> Result<Pop> {
        if !is_number(argument) {
            return Err(MqlError::failed_to_parse(format!(
                "Expected a number in: {}",
                show_element(path, argument)
            )));
        }
        match whole(argument) {
            Some(1) => Ok(Pop::Last),
            Some(-1) => Ok(Pop::First),
            Some(_) => Err(MqlError::failed_to_parse(format!(
                "$pop expects 1 or -1, found: {}",
                show_value(argument)
            ))),
            None => Err(MqlError::failed_to_parse(format!(
                "Expected an integer: {}",
                show_element(path, argument)
            ))),
        }
    }

    pub(crate) fn existing(self, value: &mut Value, apply: &Apply<'_>) -> Result<Outcome> {
        let Value::Array(elements) = value else {
            return Err(MqlError::type_mismatch(format!(
                "Path '{}' contains an element of non-array type '{}'",
                apply.path(),
                type_name(value)
            )));
        };
        if elements.is_empty() {
            return Ok(Outcome::Same);
        }
        match self {
            Pop::First => {
                elements.remove(0);
            }
            Pop::Last => {
                elements.pop();
            }
        }
        Ok(Outcome::Changed)
    }
}
