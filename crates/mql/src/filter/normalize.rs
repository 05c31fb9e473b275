//! The order in which the parts of a filter are asked.
//!
//! It decides which element of an array is found to have matched when several conditions speak of arrays: the last one that
//! was asked. MongoDB asks by kind and then by path, and updates with `$` depend on it.

use std::cmp::Ordering;

use super::node::Node;
use super::operators::Test;
use super::operators::compare::Op;
use super::operators::elem_match::ElemMatch;

/// Puts the parts of every conjunction and alternative in MongoDB's order.
pub(super) fn normalize(node: Node) -> Node {
    match node {
        Node::And(parts) => {
            let mut flat = Vec::with_capacity(parts.len());
            for part in parts.into_iter().map(normalize) {
                match part {
                    Node::And(inner) => flat.extend(inner),
                    other => flat.push(other),
                }
            }
            if flat.iter().any(|part| matches!(part, Node::Never)) {
                return Node::Never;
            }
            flat.sort_by(compare);
            Node::And(flat)
        }
        Node::Or(parts) => {
            let mut parts = sorted(parts);
            parts.retain(|part| !matches!(part, Node::Never));
            // Asked first, so that a document has its score also where another way would do.
            parts.sort_by_key(|part| !matches!(part, Node::Text(_)));
            match (parts.len(), parts.pop()) {
                (_, None) => Node::Never,
                // One way to match is no choice.
                (1, Some(only)) => only,
                (_, last) => {
                    parts.extend(last);
                    Node::Or(parts)
                }
            }
        }
        Node::Nor(parts) => Node::Nor(sorted(parts)),
        Node::Not(part) => Node::Not(Box::new(normalize(*part))),
        Node::Field {
            path,
            test: Test::ElemMatch(ElemMatch::Object(inner)),
        } => Node::Field {
            path,
            test: Test::ElemMatch(ElemMatch::Object(Box::new(normalize(*inner)))),
        },
        Node::Never
        | Node::Field { .. }
        | Node::Expr(_)
        | Node::Sample(_)
        | Node::Schema(_)
        | Node::Text(_) => node,
    }
}

fn sorted(parts: Vec<Node>) -> Vec<Node> {
    let mut parts: Vec<Node> = parts.into_iter().map(normalize).collect();
    parts.sort_by(compare);
    parts
}

fn compare(a: &Node, b: &Node) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| path(a).cmp(path(b)))
}

fn path(node: &Node) -> &str {
    match node {
        Node::Field { path, .. } => path.text(),
        Node::Not(part) => path(part),
        Node::And(_)
        | Node::Or(_)
        | Node::Nor(_)
        | Node::Never
        | Node::Expr(_)
        | Node::Sample(_)
        | Node::Schema(_)
        | Node::Text(_) => "",
    }
}

/// The place of a kind among the kinds.
fn rank(node: &Node) -> u8 {
    match node {
        Node::And(_) => 0,
        Node::Or(_) => 1,
        Node::Field { test, .. } => rank_of_test(test),
        Node::Not(_) => 20,
        Node::Nor(_) => 21,
        Node::Expr(_) => 25,
        Node::Never => 26,
        Node::Sample(_) | Node::Schema(_) => 27,
        // To be asked last, because it takes the most.
        Node::Text(_) => 29,
    }
}

fn rank_of_test(test: &Test) -> u8 {
    match test {
        Test::ElemMatch(ElemMatch::Object(_)) => 2,
        Test::ElemMatch(ElemMatch::Value(_)) => 3,
        Test::Size(_) => 4,
        Test::Compare(compare) => match compare.op {
            Op::Eq => 5,
            Op::Lte => 6,
            Op::Lt => 7,
            Op::Gt => 8,
            Op::Gte => 9,
        },
        // One value is an equality.
        Test::In(list) if list.patterns.is_empty() && list.values.len() == 1 => 5,
        Test::Regex(_) => 10,
        Test::Modulo(_) => 11,
        Test::Exists => 12,
        Test::In(_) => 13,
        Test::Bits(_) => 14,
        Test::Type(_) => 22,
        Test::Geo(_) => 23,
        Test::Near(_) => 28,
    }
}
