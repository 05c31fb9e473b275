//! What a filter asks that only an index answers: `$text` and `$near` stand once, and where they hold for every document.

use lapsedb_value::Value;

use super::geo::{Asked, Place};
use super::node::Node;
use super::operators::Test;
use super::operators::compare::Op;
use crate::text::Search;
use crate::{MqlError, Result};

/// The `$text` of a filter.
pub(super) fn text(node: &Node) -> Option<&Search> {
    match node {
        Node::Text(search) => Some(search),
        Node::And(parts) | Node::Or(parts) => parts.iter().find_map(text),
        _ => None,
    }
}

/// What must hold of places.
pub(super) fn places(node: &Node) -> Vec<Place<'_>> {
    match node {
        Node::And(parts) => parts.iter().flat_map(places).collect(),
        Node::Field { path, test } => {
            let asked = match test {
                Test::Geo(test) => Asked::Test(test),
                Test::Near(near) => Asked::Near(near),
                _ => return Vec::new(),
            };
            let path = path.text();
            vec![Place { path, asked }]
        }
        _ => Vec::new(),
    }
}

/// Lets the places of `$near` be no farther than that.
pub(super) fn limit_distance(node: &mut Node, radius: f64) {
    match node {
        Node::And(parts) => parts
            .iter_mut()
            .for_each(|part| limit_distance(part, radius)),
        Node::Field {
            test: Test::Near(near),
            ..
        } => near.limit(radius),
        _ => {}
    }
}

/// The value that a path must equal.
pub(super) fn equal_to<'a>(node: &'a Node, wanted: &str) -> Option<&'a Value> {
    match node {
        Node::And(parts) => parts.iter().find_map(|part| equal_to(part, wanted)),
        Node::Field { path, test } if path.text() == wanted => match test {
            Test::Compare(compare) if compare.op == Op::Eq && compare.collation.is_none() => {
                Some(&compare.value)
            }
            Test::In(list) if list.patterns.is_empty() && list.values.len() == 1 => {
                list.values.first().filter(|_| list.collation.is_none())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Refuses `$text` and `$near` where they mean nothing.
pub(super) fn checked(root: Node) -> Result<Node> {
    let mut found = Found::default();
    found.look(&root, true, false)?;
    match (found.texts, found.nears) {
        (2.., _) => Err(MqlError::bad_value("Too many text expressions")),
        (_, 2..) => Err(MqlError::bad_value("Too many geoNear expressions")),
        (1, 1) => Err(MqlError::bad_value(
            "text and geoNear not allowed in same query",
        )),
        _ => Ok(root),
    }
}

#[derive(Default)]
struct Found {
    texts: u32,
    nears: u32,
}

impl Found {
    fn look(&mut self, node: &Node, top: bool, denied: bool) -> Result<()> {
        let inner = |parts: &[Node], top, denied, found: &mut Found| {
            parts
                .iter()
                .try_for_each(|part| found.look(part, top, denied))
        };
        match node {
            Node::And(parts) => inner(parts, top, denied, self),
            Node::Or(parts) => inner(parts, false, denied, self),
            Node::Nor(parts) => inner(parts, false, true, self),
            Node::Not(part) => self.look(part, false, true),
            Node::Text(_) if denied => {
                Err(MqlError::bad_value("text expression not allowed in nor"))
            }
            Node::Text(_) => {
                self.texts += 1;
                Ok(())
            }
            Node::Field {
                test: Test::Near(_),
                ..
            } if !top => Err(MqlError::bad_value("geo $near must be top-level expr")),
            Node::Field {
                test: Test::Near(_),
                ..
            } => {
                self.nears += 1;
                Ok(())
            }
            Node::Never
            | Node::Field { .. }
            | Node::Expr(_)
            | Node::Sample(_)
            | Node::Schema(_) => Ok(()),
        }
    }
}
