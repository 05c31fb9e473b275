//! `$in`: equality with one of many, or a pattern among them.

use std::sync::Arc;

use lapsedb_value::order::compare_bson;
use lapsedb_value::{Budget, Value};

use super::compare::fold;
use super::regex::RegexTest;
use crate::collation::Collation;
use crate::filter::node::Run;
use crate::filter::parse::is_operator_document;
use crate::{MqlError, Result};

/// The values of a list, in order, and its patterns.
#[derive(Clone, Debug)]
pub(crate) struct InList {
    pub(crate) values: Vec<Value>,
    pub(crate) patterns: Vec<RegexTest>,
    pub(crate) collation: Option<Arc<Collation>>,
}

impl InList {
    pub(crate) fn parse(
        argument: &Value,
        collation: Option<&Arc<Collation>>,
        budget: &Budget,
    ) -> Result<InList> {
        let elements = argument
            .as_array()
            .ok_or_else(|| MqlError::bad_value("$in needs an array"))?;
        let (mut values, mut patterns) = (Vec::with_capacity(elements.len()), Vec::new());
        for element in elements {
            match element {
                Value::Object(object) if is_operator_document(object, false) => {
                    return Err(MqlError::bad_value("cannot nest $ under $in"));
                }
                Value::Regex { pattern, options } => {
                    patterns.push(RegexTest::parse(pattern, options, budget)?);
                }
                plain => values.push(fold(plain, collation)),
            }
        }
        values.sort_by(compare_bson);
        values.dedup_by(|a, b| compare_bson(a, b).is_eq());
        Ok(InList {
            values,
            patterns,
            collation: collation.cloned(),
        })
    }

    pub(crate) fn matches(&self, value: &Value, run: &mut Run<'_>) -> bool {
        let found = match &self.collation {
            Some(collation) if Collation::matters(value) => self.contains(&collation.fold(value)),
            Some(_) | None => self.contains(value),
        };
        found
            || self
                .patterns
                .iter()
                .any(|pattern| pattern.matches(value, run))
    }

    fn contains(&self, value: &Value) -> bool {
        let found = self
            .values
            .binary_search_by(|known| compare_bson(known, value));
        found.is_ok()
    }
}
