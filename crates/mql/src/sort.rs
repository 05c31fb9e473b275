//! Orders of documents: `{a: 1, "b.c": -1}`.
//!
//! An array counts as its least element when ascending and as its greatest when descending; an empty one comes before null, and
//! what is missing is null.

pub(crate) mod keys;

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use lapsedb_value::budget::{VALUE_BYTES, owned_bytes, sort_by};
use lapsedb_value::{Budget, Object, Str, Value};

use crate::collation::Collation;
use crate::expressions::numeric::Num;
use crate::expressions::values::compare;
use crate::expressions::{Metas, path, unavailable};
use crate::filter::Options;
use crate::show::{show_element, show_object};
use crate::{MqlError, Result};

/// Fields that an order may name.
const SORT_FIELDS_MAX: usize = 32;

/// An order that has been read and checked.
#[derive(Clone, Debug)]
pub struct Sort {
    fields: Vec<Field>,
    collation: Option<Arc<Collation>>,
    /// How many documents were asked for their keys, where the order is that in which they come, backward.
    visits: Option<Arc<AtomicI64>>,
}

#[derive(Clone, Debug)]
struct Field {
    path: Str,
    steps: Vec<Str>,
    descending: bool,
    /// What it is, if it is no field: known of a document by how it was found.
    beside: Option<ByBeside>,
}

/// An order by what is beside documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByBeside {
    /// How well the texts answer: best first.
    Score,
    /// How far the place is: nearest first.
    Distance,
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
            if is_score(direction) {
                return Ok(Field::beside(name, ByBeside::Score));
            }
            Ok(Field {
                path: name.clone(),
                steps: path::split(name)?,
                descending: is_descending(name, direction)?,
                beside: None,
            })
        };
        let fields = spec.iter().map(field).collect::<Result<_>>()?;
        Ok(Sort {
            fields,
            collation: None,
            visits: None,
        })
    }

    /// Reads an order of `find`: none at all and `$natural` forward are no order; `$natural` backward is.
    pub fn parse_find(spec: &Object, options: &Options) -> Result<Option<Sort>> {
        if let Some(direction) = spec.get("$natural") {
            return natural(spec, direction);
        }
        match spec.is_empty() {
            true => Ok(None),
            false => {
                let sort = Sort::parse(spec)?.with_collation(options.collation.clone());
                sort.check(options.metas)?;
                Ok(Some(sort))
            }
        }
    }

    /// Refuses an order by what is not known of the documents.
    pub(crate) fn check(&self, known: Metas) -> Result<()> {
        match known.text_score || !self.needs_score() {
            true => Ok(()),
            false => Err(unavailable("text score")),
        }
    }

    /// Whether documents are ordered by how well their texts answer.
    pub fn needs_score(&self) -> bool {
        let by_score = |field: &Field| field.beside == Some(ByBeside::Score);
        self.fields.iter().any(by_score)
    }

    /// The order of documents that were found by their distance.
    pub fn nearest_first() -> Sort {
        Sort {
            fields: vec![Field::beside("$near", ByBeside::Distance)],
            collation: None,
            visits: None,
        }
    }

    /// As [`Sort::key`], of a document that was found with this score, or at this distance.
    pub fn key_beside(
        &self,
        document: &Object,
        score: Option<f64>,
        distance: Option<f64>,
    ) -> Result<Vec<Value>> {
        let mut key = self.key(document)?;
        for (field, value) in self.fields.iter().zip(&mut key) {
            let known = match field.beside {
                None => continue,
                Some(ByBeside::Score) => score,
                Some(ByBeside::Distance) => distance,
            };
            *value = known.map_or(Value::Null, Value::Double);
        }
        Ok(key)
    }

    /// The fields in order, and whether each descends.
    pub fn fields(&self) -> impl Iterator<Item = (&str, bool)> {
        self.fields
            .iter()
            .map(|field| (field.path.as_str(), field.descending))
    }

    /// How it compares texts.
    pub fn collation(&self) -> Option<&Collation> {
        self.collation.as_deref()
    }

    /// Whether it is by nothing but fields of documents.
    pub fn is_by_fields(&self) -> bool {
        self.visits.is_none() && self.fields.iter().all(|field| field.beside.is_none())
    }

    /// Whether it is the order of creation, backward.
    pub fn is_natural(&self) -> bool {
        self.visits.is_some()
    }

    /// The same order with text compared by a collation.
    pub fn with_collation(mut self, collation: Option<Arc<Collation>>) -> Sort {
        self.collation = collation;
        self
    }

    /// What a document is ordered by, one value for each field: the first in this order of all that its arrays offer.
    ///
    /// Values are as they are compared, so text is folded by the collation, if there is one.
    pub fn key(&self, document: &Object) -> Result<Vec<Value>> {
        if let Some(visits) = &self.visits {
            return Ok(vec![Value::Int64(visits.fetch_add(1, Relaxed))]);
        }
        if let Some(key) = self.single_key(document) {
            return Ok(key);
        }
        let fold = |value: &Value| self.folded(value);
        // An id counts as a whole, also where a stage has made it an array.
        if let [Field { path, beside, .. }] = self.fields.as_slice()
            && path == "_id"
            && beside.is_none()
        {
            let id = document.get("_id").unwrap_or(&Value::Null);
            return Ok(vec![fold(id)]);
        }
        let paths: Vec<&[Str]> = self
            .fields
            .iter()
            .map(|field| field.steps.as_slice())
            .collect();
        let mut best: Option<Vec<Value>> = None;
        for key in keys::keys(&paths, document)? {
            let key: Vec<Value> = key.into_iter().map(fold).collect();
            let better = best
                .as_ref()
                .is_none_or(|best| self.compare_keys(&key, best).is_lt());
            if better {
                best = Some(key);
            }
        }
        Ok(best.unwrap_or_default())
    }

    /// The key of a document that has only one: its fields are not within others, and none of them is an array.
    fn single_key(&self, document: &Object) -> Option<Vec<Value>> {
        let mut key = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let [name] = field.steps.as_slice() else {
                return None;
            };
            key.push(match document.get(name) {
                None => Value::Null,
                Some(Value::Array(_) | Value::Undefined) => return None,
                Some(value) => self.folded(value),
            });
        }
        Some(key)
    }

    fn folded(&self, value: &Value) -> Value {
        match &self.collation {
            Some(collation) => collation.fold(value),
            None => value.clone(),
        }
    }

    /// What a document is ordered by in `$top` and its like: the values at the paths as expressions see them, arrays as wholes.
    pub(crate) fn plain_key(&self, document: &Object) -> Result<Vec<Value>> {
        let value = |field: &Field| {
            let found = field.steps.split_first().map(|(first, rest)| {
                path::follow(document.get(first).unwrap_or(Value::undefined()), rest)
            });
            match found.map(|found| found.into_owned()) {
                None | Some(Value::Undefined) => Value::Null,
                Some(Value::Array(elements)) if elements.is_empty() => Value::Undefined,
                Some(value) => value,
            }
        };
        let key: Vec<Value> = self.fields.iter().map(value).collect();
        match key
            .iter()
            .filter(|value| value.as_array().is_some())
            .count()
        {
            0 | 1 => Ok(key),
            _ => Err(MqlError::bad_value(
                "cannot sort with keys that are parallel arrays",
            )),
        }
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
    pub(crate) fn order_values(&self, values: Vec<Value>, budget: &Budget) -> Result<Vec<Value>> {
        let mut keyed: Vec<(Vec<Value>, Value)> = Vec::with_capacity(values.len());
        for value in values {
            let mut key = Vec::with_capacity(self.fields.len());
            for field in &self.fields {
                let part = field.within(&value);
                budget.charge(VALUE_BYTES + owned_bytes(&part))?;
                key.push(part);
            }
            keyed.push((key, value));
        }
        let sorted = sort_by(keyed, budget, |(a, _), (b, _)| self.compare_keys(a, b))?;
        Ok(sorted.into_iter().map(|(_, value)| value).collect())
    }
}

impl Field {
    /// What an element of an array is ordered by: the member of the whole name, or the one that the path leads to, through
    /// arrays by their places alone; arrays count as wholes, and what is missing as null.
    fn within(&self, element: &Value) -> Value {
        let mut found = element.get(&self.path);
        if found.is_undefined() {
            found = self.steps.iter().fold(element, |value, step| match value {
                Value::Array(elements) => {
                    let at = step.parse::<usize>().ok();
                    let inner = at.and_then(|at| elements.get(at));
                    inner.unwrap_or(Value::undefined())
                }
                other => other.get(step),
            });
        }
        match found {
            Value::Undefined => Value::Null,
            present => present.clone(),
        }
    }

    fn beside(name: &str, by: ByBeside) -> Field {
        Field {
            path: name.into(),
            steps: Vec::new(),
            descending: by == ByBeside::Score,
            beside: Some(by),
        }
    }
}

/// `$natural` stands alone. Backward, documents are numbered as they are asked for, and the numbers descend.
fn natural(spec: &Object, direction: &Value) -> Result<Option<Sort>> {
    if spec.len() > 1 {
        let shown = show_object(spec);
        return Err(MqlError::bad_value(format!(
            "Cannot include '$natural' in compound sort: {shown}"
        )));
    }
    let Some(number) = Num::of(direction) else {
        return Err(MqlError::bad_value("$natural must be 1 or -1"));
    };
    Ok((number.to_f64() < 0.0).then(|| Sort {
        fields: vec![Field {
            path: Str::const_new("$natural"),
            steps: Vec::new(),
            descending: true,
            beside: None,
        }],
        collation: None,
        visits: Some(Arc::default()),
    }))
}

/// Whether an order is by the score of texts.
fn is_score(direction: &Value) -> bool {
    let meta = direction.as_object().filter(|object| object.len() == 1);
    meta.is_some_and(|meta| meta.get("$meta").and_then(Value::as_str) == Some("textScore"))
}

fn is_descending(name: &str, direction: &Value) -> Result<bool> {
    match Num::of(direction).map(|number| Some(number.to_f64() as i64)) {
        Some(Some(1)) => Ok(false),
        Some(Some(-1)) => Ok(true),
        Some(_) => Err(MqlError::new(
            15975,
            "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
        )),
        None if direction.as_object().is_some() => Err(MqlError::new(
            17312,
            "$meta is the only expression supported by $sort right now",
        )),
        None => Err(MqlError::new(
            15974,
            format!(
                "Illegal key in $sort specification: {}",
                show_element(name, direction)
            ),
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

    #[test]
    fn a_document_with_one_key_has_the_one_that_all_ways_lead_to() {
        let documents = [
            r#"{}"#,
            r#"{"a":1}"#,
            r#"{"a":null,"b":"x"}"#,
            r#"{"b":{"c":[1]},"a":"y"}"#,
            r#"{"a":[],"b":1}"#,
            r#"{"a":[2],"b":1}"#,
            r#"{"a":{"b":1},"_id":[3]}"#,
        ];
        let mut single = 0;
        for sort in [
            r#"{"a":1}"#,
            r#"{"b":-1,"a":1}"#,
            r#"{"a.b":1}"#,
            r#"{"_id":1}"#,
        ] {
            let sort = Sort::parse(&object(sort)).unwrap();
            let paths: Vec<&[Str]> = sort.fields.iter().map(|field| &*field.steps).collect();
            for document in documents.map(object) {
                if let Some(key) = sort.single_key(&document) {
                    single += 1;
                    let all = keys::keys(&paths, &document).unwrap();
                    assert_eq!(format!("{all:?}"), format!("{:?}", [key]));
                }
            }
        }
        assert_eq!(single, 16);
    }
}
