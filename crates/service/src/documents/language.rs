//! Filters, until the language's own are in.

use std::cmp::Ordering;

use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::{DocumentId, ID};
use crate::documents::walk::Source;

/// A filter.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    id: Option<DocumentId>,
}

impl Filter {
    pub(crate) fn parse(filter: &Object) -> Result<Filter> {
        let mut members = filter.iter();
        match (members.next(), members.next()) {
            (None, _) => Ok(Filter { id: None }),
            (Some((name, value)), None) if name == ID && !matches!(value, Value::Object(_)) => {
                Ok(Filter {
                    id: Some(DocumentId::of(value)),
                })
            }
            _ => Err(Fault::new(
                code::BAD_VALUE,
                "only filters by _id are served yet",
            )),
        }
    }

    pub(crate) fn matches(&self, document: &Object) -> Result<bool> {
        Ok(match &self.id {
            Some(id) => *id == DocumentId::of_document(document),
            None => true,
        })
    }

    pub(crate) fn source(&self) -> Source {
        match &self.id {
            Some(id) => Source::Ids(vec![id.clone()]),
            None => Source::Everything,
        }
    }

    /// Whether it lets everything through.
    pub(crate) const fn is_empty(&self) -> bool {
        self.id.is_none()
    }
}

/// A projection.
#[derive(Clone, Debug)]
pub(crate) struct Projection;

impl Projection {
    pub(crate) fn parse(projection: &Object) -> Result<Option<Projection>> {
        if projection.is_empty() {
            return Ok(None);
        }
        Err(Fault::new(
            code::BAD_VALUE,
            "projections are not served yet",
        ))
    }

    pub(crate) fn apply(&self, document: &Object) -> Result<Object> {
        Ok(document.clone())
    }
}

/// Whether a document matches a filter.
///
/// # Errors
/// When the filter is wrong.
pub fn matches(filter: &Object, document: &Object) -> Result<bool> {
    Filter::parse(filter)?.matches(document)
}

/// An order.
#[derive(Clone, Debug)]
pub(crate) struct Sort(Vec<(String, bool)>);

impl Sort {
    pub(crate) fn parse(sort: &Object) -> Result<Option<Sort>> {
        if sort.is_empty() {
            return Ok(None);
        }
        let keys = sort
            .iter()
            .map(|(name, direction)| match direction.as_f64() {
                Some(1.0) => Ok((name.to_string(), true)),
                Some(-1.0) => Ok((name.to_string(), false)),
                Some(_) | None => Err(Fault::new(
                    15_975,
                    "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
                )),
            });
        Ok(Some(Sort(keys.collect::<Result<_>>()?)))
    }

    pub(crate) fn compare(&self, a: &Object, b: &Object) -> Ordering {
        for (name, ascending) in &self.0 {
            let of = |document: &Object| document.get(name).cloned().unwrap_or(Value::Null);
            let order = lapsedb_value::order::compare_bson(&of(a), &of(b));
            let order = if *ascending { order } else { order.reverse() };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }
}
