//! `$push`: elements into an array, at a place, sorted, and cut to a length.

use std::cmp::Ordering;
use std::sync::Arc;

use lapsedb_value::bson::type_name;
use lapsedb_value::order::compare_bson;
use lapsedb_value::{Object, Value};

use super::Outcome;
use crate::collation::Collation;
use crate::filter::operators::integer::whole;
use crate::update::apply::Apply;
use crate::{MqlError, Result};

/// What is pushed, and what happens afterwards.
#[derive(Clone, Debug)]
pub(crate) struct Push {
    values: Vec<Value>,
    position: Option<i64>,
    slice: Option<i64>,
    sort: Option<Sort>,
    collation: Option<Arc<Collation>>,
}

/// How elements are sorted.
#[derive(Clone, Debug)]
enum Sort {
    /// As a whole; whether in falling order.
    Whole(bool),
    /// By members; whether in falling order.
    Members(Vec<(String, bool)>),
}

impl Push {
    pub(crate) fn parse(argument: &Value, collation: Option<&Arc<Collation>>) -> Result<Push> {
        let mut push = Push {
            values: Vec::new(),
            position: None,
            slice: None,
            sort: None,
            collation: collation.cloned(),
        };
        match argument {
            Value::Object(clauses) if clauses.contains_key("$each") => {
                for (name, value) in clauses {
                    push.clause(name, value)?;
                }
            }
            plain => push.values.push(plain.clone()),
        }
        Ok(push)
    }

    fn clause(&mut self, name: &str, value: &Value) -> Result<()> {
        match name {
            "$each" => {
                let elements = value.as_array().ok_or_else(|| {
                    MqlError::bad_value(format!(
                        "The argument to $each in $push must be an array but it was of type: {}",
                        type_name(value)
                    ))
                })?;
                self.values = elements.to_vec();
            }
            "$position" => {
                self.position = Some(whole(value).ok_or_else(|| {
                    MqlError::bad_value(format!(
                        "The value for $position must be an integer value, not of type: {}",
                        type_name(value)
                    ))
                })?);
            }
            "$slice" => {
                self.slice = Some(whole(value).ok_or_else(|| {
                    MqlError::bad_value(format!(
                        "The value for $slice must be an integer value but was given type: {}",
                        type_name(value)
                    ))
                })?);
            }
            "$sort" => self.sort = Some(Sort::parse(value)?),
            _ => {
                return Err(MqlError::bad_value(format!(
                    "Unrecognized clause in $push: {name}"
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn existing(&self, value: &mut Value, apply: &Apply<'_>) -> Result<Outcome> {
        let Value::Array(elements) = value else {
            return Err(MqlError::bad_value(format!(
                "The field '{}' must be an array but is of type {} in document {{{}}}",
                apply.path(),
                type_name(value),
                apply.id_text()
            )));
        };
        let before = elements.len();
        self.push(elements);
        // Sorting counts as a change even if all are in order, and so does pushing what is cut off again, as in MongoDB.
        let touched = !self.values.is_empty() || (self.sort.is_some() && before > 0);
        Ok(match touched || elements.len() != before {
            true if self.is_plain() && before > 0 => Outcome::Appended(before),
            true => Outcome::Changed,
            false => Outcome::Same,
        })
    }

    /// Whether elements only go behind those that are there.
    fn is_plain(&self) -> bool {
        self.position.is_none() && self.slice.is_none() && self.sort.is_none()
    }

    pub(crate) fn missing(&self) -> Value {
        let mut elements = Vec::new();
        self.push(&mut elements);
        Value::Array(elements)
    }

    fn push(&self, elements: &mut Vec<Value>) {
        let length = elements.len();
        let at = match self.position {
            None => length,
            Some(at) if at >= 0 => usize::try_from(at).unwrap_or(length).min(length),
            Some(from_end) => {
                let back = usize::try_from(from_end.unsigned_abs()).unwrap_or(length);
                length.saturating_sub(back)
            }
        };
        elements.splice(at..at, self.values.iter().cloned());
        if let Some(sort) = &self.sort {
            let collation = self.collation.as_deref();
            elements.sort_by(|a, b| sort.compare(a, b, collation));
        }
        match self.slice {
            None => {}
            Some(first) if first >= 0 => {
                elements.truncate(usize::try_from(first).unwrap_or(usize::MAX));
            }
            Some(last) => {
                let keep = usize::try_from(last.unsigned_abs()).unwrap_or(usize::MAX);
                elements.drain(..elements.len().saturating_sub(keep));
            }
        }
    }
}

impl Sort {
    fn parse(argument: &Value) -> Result<Sort> {
        match argument {
            Value::Object(pattern) => Sort::parse_pattern(pattern),
            number => match whole(number) {
                Some(1) => Ok(Sort::Whole(false)),
                Some(-1) => Ok(Sort::Whole(true)),
                Some(_) => Err(MqlError::bad_value(
                    "The $sort element value must be either 1 or -1",
                )),
                None => Err(MqlError::bad_value(
                    "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields",
                )),
            },
        }
    }

    fn parse_pattern(pattern: &Object) -> Result<Sort> {
        if pattern.is_empty() {
            return Err(MqlError::bad_value(
                "The sort pattern is empty when it should be a set of fields.",
            ));
        }
        let mut members = Vec::with_capacity(pattern.len());
        for (name, direction) in pattern {
            if name.is_empty() {
                return Err(MqlError::bad_value("The $sort field cannot be empty"));
            }
            if name.split('.').any(str::is_empty) {
                return Err(MqlError::bad_value(format!(
                    "The $sort field is a dotted field but has an empty part: {name}"
                )));
            }
            let falling = match whole(direction) {
                Some(1) => false,
                Some(-1) => true,
                Some(_) | None => {
                    return Err(MqlError::bad_value(
                        "The sort element value must be either 1 or -1",
                    ));
                }
            };
            members.push((name.to_string(), falling));
        }
        Ok(Sort::Members(members))
    }

    fn compare(&self, a: &Value, b: &Value, collation: Option<&Collation>) -> Ordering {
        match self {
            Sort::Whole(falling) => directed(a, b, *falling, collation),
            Sort::Members(members) => members
                .iter()
                .map(|(path, falling)| {
                    directed(member(a, path), member(b, path), *falling, collation)
                })
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal),
        }
    }
}

/// What an element without members, or without that one, is sorted by: nothing.
fn member<'a>(element: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(element, |value, name| value.get(name))
}

fn directed(a: &Value, b: &Value, falling: bool, collation: Option<&Collation>) -> Ordering {
    let order = match collation {
        Some(collation) => compare_bson(&collation.fold(a), &collation.fold(b)),
        None => compare_bson(a, b),
    };
    if falling { order.reverse() } else { order }
}
