//! `$elemMatch`: one element of an array that fulfils everything.

use lapsedb_value::{Object, Value};

use crate::filter::node::{Node, Run};
use crate::filter::parse::{self, Parser};
use crate::filter::path::Holder;
use crate::{MqlError, Result};

/// What one element must fulfil.
#[derive(Clone, Debug)]
pub(crate) enum ElemMatch {
    /// A filter over elements that are objects or arrays.
    Object(Box<Node>),
    /// Operators over the element itself.
    Value(Box<Node>),
}

impl ElemMatch {
    pub(crate) fn parse(parser: &Parser<'_>, field: &str, argument: &Value) -> Result<ElemMatch> {
        let object = argument
            .as_object()
            .ok_or_else(|| MqlError::bad_value("$elemMatch needs an Object"))?;
        let inner = parser.inside_element();
        Ok(match is_about_values(object) {
            true => ElemMatch::Value(Box::new(inner.field_operators(field, object)?)),
            false => ElemMatch::Object(Box::new(inner.object(object)?)),
        })
    }

    /// The position of the first element that fulfils it.
    pub(crate) fn find(&self, array: &Value, run: &mut Run<'_>) -> Option<usize> {
        let elements = array.as_array()?;
        elements
            .iter()
            .position(|element| self.element_matches(element, run))
    }

    pub(crate) fn element_matches(&self, element: &Value, run: &mut Run<'_>) -> bool {
        match self {
            ElemMatch::Object(node) => match Holder::of(element) {
                Some(holder) => node.matches(holder, run),
                None => false,
            },
            ElemMatch::Value(node) => node.matches_value(element, run),
        }
    }
}

/// Whether the argument speaks of the element itself, and not of its members.
fn is_about_values(object: &Object) -> bool {
    let first = object.keys().next();
    parse::is_operator_document(object, true) && first.is_some_and(|name| !parse::is_pathless(name))
}
