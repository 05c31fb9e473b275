//! Orders of documents: `{a: 1, "b.c": -1}`.
//!
//! An array counts as its least element when ascending and as its greatest when descending; an empty one comes before null, and
//! what is missing is null.

use std::cmp::Ordering;

use lapsedb_value::{Object, Str, Value};

use crate::expressions::numeric::Num;
use crate::expressions::path;
use crate::expressions::values::compare;
use crate::{MqlError, Result};

/// Fields that an order may name.
const SORT_FIELDS_MAX: usize = 32;

/// An order that has been read and checked.
#[derive(Clone, Debug)]
pub struct Sort {
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    path: Str,
    steps: Vec<Str>,
    descending: bool,
}

/// A field on the way from the document to its value: where it is, and what is left of its path.
#[derive(Clone, Copy)]
struct Way<'v> {
    at: &'v Value,
    steps: &'v [Str],
    /// Whether an array has been opened to get here, whose elements are not opened again.
    opened: bool,
}

impl Sort {
    /// Reads an order.
    pub fn parse(spec: &Object) -> Result<Sort> {
        if spec.is_empty() {
            return Err(MqlError::new(
                15976,
                "$sort stage must have at least one sort key",
            ));
        }
        if spec.len() > SORT_FIELDS_MAX {
            let message = format!("too many sort keys: {SORT_FIELDS_MAX} are the limit");
            return Err(MqlError::new(13103, message));
        }
        let field = |(name, direction): (&Str, &Value)| {
            Ok(Field {
                path: name.clone(),
                steps: path::split(name)?,
                descending: is_descending(direction)?,
            })
        };
        let fields = spec.iter().map(field).collect::<Result<_>>()?;
        Ok(Sort { fields })
    }

    /// The fields in order, and whether each descends.
    pub fn fields(&self) -> impl Iterator<Item = (&str, bool)> {
        self.fields
            .iter()
            .map(|field| (field.path.as_str(), field.descending))
    }

    /// What a document is ordered by, one value for each field.
    pub fn key(&self, document: &Object) -> Result<Vec<Value>> {
        // An id counts as a whole, also where a stage has made it an array.
        if let [Field { path, .. }] = self.fields.as_slice()
            && path == "_id"
        {
            return Ok(vec![document.get("_id").cloned().unwrap_or(Value::Null)]);
        }
        let mut ways = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let (first, steps) = match field.steps.split_first() {
                Some((first, steps)) => (first, steps),
                None => continue,
            };
            ways.push(Way {
                at: document.get(first).unwrap_or(&Value::Null),
                steps,
                opened: false,
            });
        }
        self.best(ways)
    }

    /// Orders two keys.
    pub fn compare_keys(&self, a: &[Value], b: &[Value]) -> Ordering {
        for ((a, b), field) in a.iter().zip(b).zip(&self.fields) {
            let order = match field.descending {
                true => compare(b, a),
                false => compare(a, b),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Puts documents in order; equal ones keep theirs.
    pub fn order(&self, documents: &mut Vec<Object>) -> Result<()> {
        let keyed = documents.drain(..).map(|document| {
            let key = self.key(&document)?;
            Ok((key, document))
        });
        let mut keyed = keyed.collect::<Result<Vec<_>>>()?;
        keyed.sort_by(|(a, _), (b, _)| self.compare_keys(a, b));
        documents.extend(keyed.into_iter().map(|(_, document)| document));
        Ok(())
    }

    /// Puts values in order; what is no object has no fields.
    pub(crate) fn order_values(&self, values: &mut Vec<Value>) -> Result<()> {
        let empty = Object::new();
        let keyed = values.drain(..).map(|value| {
            let key = self.key(value.as_object().unwrap_or(&empty))?;
            Ok((key, value))
        });
        let mut keyed = keyed.collect::<Result<Vec<_>>>()?;
        keyed.sort_by(|(a, _), (b, _)| self.compare_keys(a, b));
        values.extend(keyed.into_iter().map(|(_, value)| value));
        Ok(())
    }

    /// The key that comes first among those that arrays offer.
    fn best(&self, mut ways: Vec<Way<'_>>) -> Result<Vec<Value>> {
        let mut array: Option<&[Value]> = None;
        for way in &mut ways {
            way.follow();
            let Some(elements) = way.array() else {
                continue;
            };
            match array {
                Some(other) if !std::ptr::eq(other, elements) => {
                    return Err(MqlError::bad_value(
                        "cannot sort with keys that are parallel arrays",
                    ));
                }
                Some(_) | None => array = Some(elements),
            }
        }
        let Some(elements) = array else {
            return Ok(ways.iter().map(Way::value).collect());
        };
        if elements.is_empty() {
            return Ok(ways.iter().map(Way::value_of_empty).collect());
        }
        let mut best: Option<Vec<Value>> = None;
        for element in elements {
            let inside = ways.iter().map(|way| way.into_element(element)).collect();
            let key = self.best(inside)?;
            let better = best
                .as_ref()
                .is_none_or(|best| self.compare_keys(&key, best).is_lt());
            if better {
                best = Some(key);
            }
        }
        Ok(best.unwrap_or_default())
    }
}

impl<'v> Way<'v> {
    /// Goes through objects, and into arrays by number, as far as it goes without choosing an element.
    fn follow(&mut self) {
        while let Some((step, rest)) = self.steps.split_first() {
            let next = match self.at {
                Value::Object(object) => object.get(step),
                Value::Array(elements) => match numbered(elements, step) {
                    Some(element) => Some(element),
                    None if self.opened => None,
                    None => return,
                },
                _ => None,
            };
            self.opened = false;
            match next {
                Some(next) => (self.at, self.steps) = (next, rest),
                None => (self.at, self.steps) = (&Value::Null, &[]),
            }
        }
    }

    /// The array whose elements are to be tried.
    fn array(&self) -> Option<&'v [Value]> {
        match self.opened {
            true => None,
            false => self.at.as_array(),
        }
    }

    /// The same way from an element of its array; other ways stay where they are.
    fn into_element(self, element: &'v Value) -> Way<'v> {
        match self.array() {
            Some(_) => Way {
                at: element,
                steps: self.steps,
                opened: true,
            },
            None => self,
        }
    }

    fn value(&self) -> Value {
        self.at.clone()
    }

    /// The value if its array is empty: nothing at all, which comes before null, unless the path goes on.
    fn value_of_empty(&self) -> Value {
        match (self.array(), self.steps.is_empty()) {
            (Some(_), true) => Value::Undefined,
            (Some(_), false) => Value::Null,
            (None, _) => self.value(),
        }
    }
}

/// The element that a step names by its number.
fn numbered<'v>(elements: &'v [Value], step: &str) -> Option<&'v Value> {
    let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    let at: usize = digits.then(|| step.parse().ok()).flatten()?;
    elements.get(at)
}

fn is_descending(direction: &Value) -> Result<bool> {
    match Num::of(direction).map(Num::to_i64_exact) {
        Some(Some(1)) => Ok(false),
        Some(Some(-1)) => Ok(true),
        Some(_) => Err(MqlError::new(
            15975,
            "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
        )),
        None => Err(MqlError::new(
            15974,
            format!("Illegal key in $sort specification: {direction}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use lapsedb_value::json;

    use super::*;

    fn object(text: &str) -> Object {
        let value = json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap();
        value.into_object().unwrap()
    }

    fn key(sort: &str, document: &str) -> String {
        let key = Sort::parse(&object(sort)).unwrap().key(&object(document));
        match key {
            Ok(key) => key.iter().map(|value| format!("{value};")).collect(),
            Err(error) => error.code.to_string(),
        }
    }

    #[test]
    fn a_key_is_the_least_or_greatest_of_what_arrays_offer() {
        for (sort, document, expected) in [
            (r#"{"a":1}"#, r#"{"a":[3,1,2]}"#, "1;"),
            (r#"{"a":-1}"#, r#"{"a":[3,1,2]}"#, "3;"),
            (r#"{"a":1}"#, r#"{}"#, "null;"),
            (r#"{"a":1}"#, r#"{"a":[]}"#, ";"),
            (r#"{"a.b":1}"#, r#"{"a":[]}"#, "null;"),
            (r#"{"a.b":1}"#, r#"{"a":[{"b":5},{"b":2}]}"#, "2;"),
            (r#"{"a.b":1}"#, r#"{"a":[{"b":5},{}]}"#, "null;"),
            (r#"{"a.1":1}"#, r#"{"a":[7,8]}"#, "8;"),
            (r#"{"a":1}"#, r#"{"a":[[1,2],[0]]}"#, "[0];"),
            (
                r#"{"a.b":1,"a.c":-1}"#,
                r#"{"a":[{"b":1,"c":1},{"b":1,"c":2}]}"#,
                "1;2;",
            ),
            (r#"{"a":1,"b":1}"#, r#"{"a":[1],"b":[2]}"#, "2"),
        ] {
            assert_eq!(key(sort, document), expected, "{sort} {document}");
        }
    }
}
