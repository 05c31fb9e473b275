//! Whether a filter leaves out documents that lack a field: only then an index that lacks them too may answer.

use lapsedb_value::Value;

use super::Filter;
use super::node::Node;
use super::operators::Test;
use super::operators::compare::{Compare, Op};
use super::operators::elem_match::ElemMatch;

impl Filter {
    /// Whether every document that fulfils it has something at the path, null perhaps.
    pub fn excludes_missing(&self, path: &str) -> bool {
        excludes(&self.root, "", path)
    }
}

fn excludes(node: &Node, prefix: &str, path: &str) -> bool {
    match node {
        Node::And(parts) => parts.iter().any(|part| excludes(part, prefix, path)),
        Node::Or(parts) => {
            !parts.is_empty() && parts.iter().all(|part| excludes(part, prefix, path))
        }
        Node::Never => true,
        Node::Field { path: own, test } => {
            let full = match prefix {
                "" => own.text().to_owned(),
                _ => format!("{prefix}.{}", own.text()),
            };
            match test {
                Test::ElemMatch(ElemMatch::Object(inner)) => {
                    full == path || excludes(inner, &full, path)
                }
                test => full == path && demands(test),
            }
        }
        // Not null is neither missing.
        Node::Not(inner) => match inner.as_ref() {
            Node::Field {
                path: own,
                test: Test::Compare(compare),
            } => prefix.is_empty() && own.text() == path && is_null(compare),
            _ => false,
        },
        Node::Nor(_) | Node::Expr(_) | Node::Sample(_) | Node::Schema(_) | Node::Text(_) => false,
    }
}

fn is_null(compare: &Compare) -> bool {
    compare.op == Op::Eq && matches!(compare.value, Value::Null | Value::Undefined)
}

/// Whether a missing value fails the test.
pub(super) fn demands(test: &Test) -> bool {
    let null = |value: &Value| matches!(value, Value::Null | Value::Undefined);
    match test {
        Test::Compare(compare) => !matches!(
            compare.value,
            Value::Null | Value::Undefined | Value::MinKey | Value::MaxKey
        ),
        Test::In(list) => !list.values.iter().any(null),
        Test::Exists
        | Test::Regex(_)
        | Test::Modulo(_)
        | Test::Type(_)
        | Test::Size(_)
        | Test::ElemMatch(_)
        | Test::Bits(_)
        | Test::Geo(_)
        | Test::Near(_) => true,
    }
}
