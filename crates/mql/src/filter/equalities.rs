//! What a filter says a document equals: the beginning of a document that an upsert makes.

use lapsedb_value::{Object, Str, Value};

use super::Filter;
use super::node::Node;
use super::operators::Test;
use super::operators::compare::Op;
use super::operators::elem_match::ElemMatch;
use super::parse::is_operator_document;
use crate::{MqlError, Result};

/// Reads the equalities of a filter's document: `a: 1`, `$eq`, `$in` and `$all` of one value, through `$and` and through
/// `$or` of one branch. The same path twice, or a path and one below it: code 54.
pub(crate) fn equalities(filter: &Object) -> Result<Vec<(Str, Value)>> {
    let mut found = Vec::new();
    collect(filter, &mut found, &|_| true)?;
    Ok(found)
}

/// The value that the filter gives to `_id`, whatever it says about other paths.
pub(crate) fn id_of(filter: &Object) -> Result<Option<Value>> {
    let mut found = Vec::new();
    collect(filter, &mut found, &|path| path == "_id")?;
    Ok(found.pop().map(|(_, id)| id))
}

/// Which paths are asked for.
type Wanted<'a> = &'a dyn Fn(&str) -> bool;

fn collect(filter: &Object, found: &mut Vec<(Str, Value)>, wanted: Wanted<'_>) -> Result<()> {
    for (name, value) in filter {
        match name.as_str() {
            "$and" => {
                for branch in value.as_array().unwrap_or_default() {
                    collect_value(branch, found, wanted)?;
                }
            }
            "$or" => {
                if let Some([only]) = value.as_array() {
                    collect_value(only, found, wanted)?;
                }
            }
            _ if name.starts_with('$') || !wanted(name) => {}
            _ => field(name, value, found)?,
        }
    }
    Ok(())
}

fn collect_value(branch: &Value, found: &mut Vec<(Str, Value)>, wanted: Wanted<'_>) -> Result<()> {
    match branch.as_object() {
        Some(filter) => collect(filter, found, wanted),
        None => Ok(()),
    }
}

fn field(name: &Str, value: &Value, found: &mut Vec<(Str, Value)>) -> Result<()> {
    let Value::Object(operators) = value else {
        return match value {
            Value::Regex { .. } => Ok(()),
            _ => push(name, value, found),
        };
    };
    if !is_operator_document(operators, false) {
        return push(name, value, found);
    }
    for (operator, argument) in operators {
        match (operator.as_str(), argument) {
            ("$eq", argument) => push(name, argument, found)?,
            ("$in" | "$all", Value::Array(elements)) => match elements.as_slice() {
                [only] if is_plain(only) => push(name, only, found)?,
                _ => {}
            },
            _ => {}
        }
    }
    Ok(())
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Regex { .. } => false,
        Value::Object(object) => !is_operator_document(object, false),
        _ => true,
    }
}

fn push(name: &Str, value: &Value, found: &mut Vec<(Str, Value)>) -> Result<()> {
    for (known, _) in found.iter() {
        let clash = match name {
            _ if known == name => true,
            _ if below(name, known) || below(known, name) => true,
            _ => false,
        };
        if clash {
            let message = match known == name {
                true => format!("cannot infer query fields to set, path '{name}' is matched twice"),
                false => format!(
                    "cannot infer query fields to set, both paths '{known}' and '{name}' are matched"
                ),
            };
            return Err(MqlError::new(54, message));
        }
    }
    found.push((name.clone(), value.clone()));
    Ok(())
}

/// Whether the path leads through the other one.
fn below(path: &str, other: &str) -> bool {
    path.strip_prefix(other)
        .is_some_and(|rest| rest.starts_with('.'))
}

impl Filter {
    /// The paths that conditions which must hold speak of, in the order of the filter.
    pub fn paths(&self) -> Vec<&str> {
        let parts = match &self.root {
            Node::And(parts) => parts.as_slice(),
            only => std::slice::from_ref(only),
        };
        let mut paths = Vec::with_capacity(parts.len());
        for part in parts {
            if let Node::Field { path, .. } = part {
                paths.push(path.text());
            }
        }
        paths
    }

    /// Every path that must equal a value, in the order of the filter: what a planner may look up first.
    pub fn equalities(&self) -> Vec<(&str, &Value)> {
        let mut found = Vec::new();
        paths(&self.root, &mut found);
        found
    }
}

fn paths<'a>(node: &'a Node, found: &mut Vec<(&'a str, &'a Value)>) {
    match node {
        Node::And(parts) => parts.iter().for_each(|part| paths(part, found)),
        Node::Field { path, test } => match test {
            Test::Compare(compare) if compare.op == Op::Eq => {
                found.push((path.text(), &compare.value))
            }
            Test::ElemMatch(ElemMatch::Value(_) | ElemMatch::Object(_)) => {}
            _ => {}
        },
        Node::Or(_)
        | Node::Nor(_)
        | Node::Not(_)
        | Node::Never
        | Node::Expr(_)
        | Node::Sample(_)
        | Node::Schema(_)
        | Node::Text(_) => {}
    }
}
