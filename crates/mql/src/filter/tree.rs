//! A filter as MongoDB prints it where it says why it has no plan: a line for each part, deeper ones further to the right.

use std::fmt::Write;

use super::node::Node;
use super::operators::Test;
use super::operators::compare::Op;
use super::operators::elem_match::ElemMatch;
use crate::show::show_value;

/// Spaces for each level.
const INDENT: usize = 4;

/// Appends the lines of a part.
pub(super) fn write(node: &Node, depth: usize, out: &mut String) {
    if let Node::And(parts) = node
        && let [only] = parts.as_slice()
    {
        return write(only, depth, out);
    }
    let _ = write!(out, "{:1$}", "", depth * INDENT);
    let below = |name: &str, parts: &[Node], out: &mut String| {
        let _ = writeln!(out, "{name}");
        parts.iter().for_each(|part| write(part, depth + 1, out));
    };
    match node {
        Node::And(parts) => below("$and", parts, out),
        Node::Or(parts) => below("$or", parts, out),
        Node::Nor(parts) => below("$nor", parts, out),
        Node::Not(part) => below("$not", std::slice::from_ref(part), out),
        Node::Never => below("$alwaysFalse", &[], out),
        Node::Expr(_) => below("$expr", &[], out),
        Node::Sample(rate) => below(&format!("$sampleRate {rate}"), &[], out),
        Node::Schema(_) => below("$jsonSchema", &[], out),
        Node::Text(_) => below("TEXT", &[], out),
        Node::Field { path, test } => field(path.text(), test, depth, out),
    }
}

fn field(path: &str, test: &Test, depth: usize, out: &mut String) {
    let shown = match test {
        Test::Near(near) => near.describe(path),
        Test::Compare(compare) => {
            let operator = match compare.op {
                Op::Eq => "$eq",
                Op::Lt => "$lt",
                Op::Lte => "$lte",
                Op::Gt => "$gt",
                Op::Gte => "$gte",
            };
            format!("{path} {operator} {}", show_value(&compare.value))
        }
        Test::In(list) => {
            let values = list.values.iter().map(|value| show_value(value) + " ");
            let patterns = list
                .patterns
                .iter()
                .map(|pattern| format!("/{}/{} ", pattern.source, pattern.options));
            let all: String = values.chain(patterns).collect();
            format!("{path} $in [ {all}]")
        }
        Test::Regex(pattern) => format!("{path} regex /{}/{}", pattern.source, pattern.options),
        Test::Exists => format!("{path} exists"),
        Test::Modulo(_) => format!("{path} mod"),
        Test::Type(_) => format!("{path} type"),
        Test::Size(_) => format!("{path} $size"),
        Test::Bits(_) => format!("{path} bits"),
        Test::Geo(_) => format!("GEO {path}"),
        Test::ElemMatch(inner) => {
            let (name, part) = match inner {
                ElemMatch::Object(part) => ("$elemMatch (obj)", part),
                ElemMatch::Value(part) => ("$elemMatch (value)", part),
            };
            let _ = writeln!(out, "{path} {name}");
            return write(part, depth + 1, out);
        }
    };
    let _ = writeln!(out, "{shown}");
}
