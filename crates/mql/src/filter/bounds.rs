//! What an index on a path has to be read for: the intervals outside of which nothing can match.
//!
//! Intervals are in the order of [`lapsedb_value::order::compare_bson`] and speak of index entries: one per element of an
//! array, and null for what is missing. They may hold more than matches, so documents are held against the filter again.

use std::sync::Arc;

use lapsedb_value::order::bson_class;
use lapsedb_value::{Object, Str, Value};

use super::Filter;
use super::interval::{Edge, Interval, intersect, merge};
use super::node::Node;
use super::operators::Test;
use super::operators::compare::{Compare, Op};
use super::operators::elem_match::ElemMatch;
use super::operators::in_list::InList;
use super::operators::regex::RegexTest;
use super::operators::type_is::TypeIs;
use super::path::position;
use super::pathless::Expression;
use crate::expressions::{Expr, Scope};

impl Filter {
    /// The intervals of an index on the path, in order and apart; nothing if the filter says nothing usable about it.
    ///
    /// An index with several entries per document may use only one condition, because different elements may fulfil
    /// different ones; `multikey` says that there are such documents.
    pub fn bounds(&self, path: &str, multikey: bool) -> Option<Vec<Interval>> {
        let mut found: Vec<Vec<Interval>> = Vec::new();
        let wanted = Wanted { filter: self, path };
        wanted.collect(&self.root, "", &mut found);
        let best = |a: &Vec<Interval>| (!a.iter().all(|one| one.as_point().is_some()), a.len());
        match multikey {
            true => found.into_iter().min_by_key(best),
            false => found.into_iter().reduce(|a, b| intersect(&a, &b)),
        }
    }

    /// The value that `_id` must equal, if the filter says that and nothing else: a document with this `_id` matches.
    pub fn id_alone(&self) -> Option<&Value> {
        match &self.root {
            Node::Field {
                path,
                test: Test::Compare(compare),
            } if path.text() == "_id" && is_plain_equality(compare) => Some(&compare.value),
            Node::And(parts) if parts.len() == 1 => self.id_equality(),
            _ => None,
        }
    }

    /// The value that `_id` must equal, if the filter says so and leaves no choice.
    pub fn id_equality(&self) -> Option<&Value> {
        let mut parts = vec![&self.root];
        while let Some(node) = parts.pop() {
            match node {
                Node::And(inner) => parts.extend(inner),
                Node::Field {
                    path,
                    test: Test::Compare(compare),
                } if path.text() == "_id" && is_plain_equality(compare) => {
                    return Some(&compare.value);
                }
                Node::Field {
                    path,
                    test: Test::In(list),
                } if path.text() == "_id" && list.patterns.is_empty() && list.values.len() == 1 => {
                    return list
                        .values
                        .first()
                        .filter(|value| !matches!(value, Value::Null));
                }
                Node::Field { .. }
                | Node::Or(_)
                | Node::Nor(_)
                | Node::Not(_)
                | Node::Never
                | Node::Expr(_)
                | Node::Sample(_)
                | Node::Schema(_)
                | Node::Text(_) => {}
            }
        }
        None
    }
}

/// Equality that only the very value fulfils: an `_id` is never an array, and never missing.
fn is_plain_equality(compare: &Compare) -> bool {
    let plain = !matches!(
        compare.value,
        Value::Array(_) | Value::Null | Value::Undefined
    );
    let bytes =
        compare.collation.is_none() || !crate::collation::Collation::matters(&compare.value);
    compare.op == Op::Eq && plain && bytes
}

/// What is asked of a filter: intervals on one path.
struct Wanted<'a> {
    filter: &'a Filter,
    path: &'a str,
}

impl Wanted<'_> {
    /// Adds what every condition that must hold says about the path.
    fn collect(&self, node: &Node, prefix: &str, found: &mut Vec<Vec<Interval>>) {
        match node {
            Node::And(parts) => parts
                .iter()
                .for_each(|part| self.collect(part, prefix, found)),
            Node::Field { path: own, test } => {
                let first = own.parts().first();
                if !prefix.is_empty() && first.is_some_and(|name| position(name).is_some()) {
                    // A position in an element that is an array: no path from the top says the same.
                    return;
                }
                let full = match prefix {
                    "" => own.text().to_owned(),
                    _ => format!("{prefix}.{}", own.text()),
                };
                match test {
                    Test::ElemMatch(ElemMatch::Object(inner)) => self.collect(inner, &full, found),
                    _ if full == self.path => found.extend(self.of_test(test)),
                    _ => {}
                }
            }
            Node::Or(parts) => found.extend(self.of_branches(parts, prefix)),
            Node::Never => found.push(Vec::new()),
            Node::Expr(expression) if prefix.is_empty() => found.extend(self.of_expr(expression)),
            Node::Expr(_)
            | Node::Nor(_)
            | Node::Not(_)
            | Node::Sample(_)
            | Node::Schema(_)
            | Node::Text(_) => {}
        }
    }

    /// Any branch may hold: the union, if each says something about the path.
    fn of_branches(&self, parts: &[Node], prefix: &str) -> Option<Vec<Interval>> {
        let mut union = Vec::new();
        for part in parts {
            let mut found = Vec::new();
            self.collect(part, prefix, &mut found);
            union.extend(found.into_iter().next()?);
        }
        Some(merge(union))
    }

    fn of_test(&self, test: &Test) -> Option<Vec<Interval>> {
        of_test(test, self.filter.options.collation.is_some())
    }

    /// What an expression demands to equal. Expressions compare without the collation, so text says nothing under one.
    fn of_expr(&self, expression: &Expression) -> Option<Vec<Interval>> {
        let own = |(path, _): &&(Str, Arc<Expr>)| path == self.path;
        let (_, value) = expression.equal.iter().find(own)?;
        let root = Object::new();
        let scope = Scope::new(&root, &self.filter.options.env);
        let value = value.eval(&scope).ok()?;
        let collated = self.filter.options.collation.is_some();
        if collated && crate::collation::Collation::matters(&value) {
            return None;
        }
        of_compare(&Compare::new(Op::Eq, &value, None))
    }
}

/// The intervals of one condition; under a collation the beginning of a pattern says nothing.
pub(super) fn of_test(test: &Test, collated: bool) -> Option<Vec<Interval>> {
    match test {
        Test::Compare(compare) => of_compare(compare),
        Test::In(list) => of_list(list, collated),
        Test::Regex(regex) => Some(of_regex(regex, collated)),
        Test::Type(types) => of_types(types),
        Test::ElemMatch(ElemMatch::Value(node)) => {
            let mut found = Vec::new();
            values(node, collated, &mut found);
            found.into_iter().reduce(|a, b| intersect(&a, &b))
        }
        Test::ElemMatch(ElemMatch::Object(_))
        | Test::Exists
        | Test::Modulo(_)
        | Test::Size(_)
        | Test::Bits(_)
        | Test::Geo(_)
        | Test::Near(_) => None,
    }
}

/// Conditions on one element itself: all of them speak of the same entry.
fn values(node: &Node, collated: bool, found: &mut Vec<Vec<Interval>>) {
    match node {
        Node::And(parts) => parts.iter().for_each(|part| values(part, collated, found)),
        Node::Field { test, .. } => found.extend(of_test(test, collated)),
        Node::Never => found.push(Vec::new()),
        Node::Or(_)
        | Node::Nor(_)
        | Node::Not(_)
        | Node::Expr(_)
        | Node::Sample(_)
        | Node::Schema(_)
        | Node::Text(_) => {}
    }
}

fn of_compare(compare: &Compare) -> Option<Vec<Interval>> {
    let value = &compare.value;
    let class = bson_class(value);
    let (start, end) = (Edge::ClassStart(class), Edge::ClassEnd(class));
    match value {
        // Everything is above the first and below the last value.
        Value::MinKey | Value::MaxKey if compare.op != Op::Eq => return None,
        Value::Array(elements) => return of_array(compare, elements),
        Value::Null | Value::Undefined => {
            return match compare.op {
                Op::Eq | Op::Lte | Op::Gte => Some(vec![Interval::class(class)]),
                Op::Lt | Op::Gt => Some(Vec::new()),
            };
        }
        _ => {}
    }
    let (low, high) = match compare.op {
        Op::Eq => return Some(vec![Interval::point(value)]),
        Op::Lt => (start, Edge::Before(value.clone())),
        Op::Lte => (start, Edge::After(value.clone())),
        Op::Gt => (Edge::After(value.clone()), end),
        Op::Gte => (Edge::Before(value.clone()), end),
    };
    Some(vec![Interval { low, high }])
}

/// A whole array has one entry per element: one that equals a given array has an entry of its first element; one that holds
/// the given array as an element has an entry of it.
fn of_array(compare: &Compare, elements: &[Value]) -> Option<Vec<Interval>> {
    let first = elements.first()?;
    match compare.op {
        Op::Eq => Some(merge(vec![
            Interval::point(first),
            Interval::point(&compare.value),
        ])),
        Op::Lt | Op::Lte | Op::Gt | Op::Gte => None,
    }
}

fn of_list(list: &InList, collated: bool) -> Option<Vec<Interval>> {
    let mut union = Vec::with_capacity(list.values.len());
    for value in &list.values {
        match value {
            Value::Array(elements) => {
                union.push(Interval::point(elements.first()?));
                union.push(Interval::point(value));
            }
            plain => union.push(Interval::point(plain)),
        }
    }
    for pattern in &list.patterns {
        union.extend(of_regex(pattern, collated));
    }
    Some(merge(union))
}

/// Text that begins with what the pattern begins with, and the pattern as a value.
fn of_regex(regex: &RegexTest, collated: bool) -> Vec<Interval> {
    let text = Value::from("");
    let itself = Interval::class(bson_class(&Value::Regex {
        pattern: Box::default(),
        options: Box::default(),
    }));
    let strings = match literal_prefix(&regex.source) {
        Some(prefix) if regex.options.is_empty() && !collated => {
            let high = match next_text(&prefix) {
                Some(next) => Edge::Before(Value::String(next.into())),
                None => Edge::ClassEnd(bson_class(&text)),
            };
            Interval {
                low: Edge::Before(Value::String(prefix.into())),
                high,
            }
        }
        Some(_) | None => Interval::class(bson_class(&text)),
    };
    vec![strings, itself]
}

/// The letters that a pattern anchored at the beginning demands first.
fn literal_prefix(source: &str) -> Option<String> {
    let rest = source.strip_prefix('^')?;
    if rest.contains('|') {
        return None;
    }
    let plain: String = rest
        .chars()
        .take_while(|sign| sign.is_alphanumeric() || " _-:/@,;'\"=<>!&%~`".contains(*sign))
        .collect();
    let follows = rest.get(plain.len()..)?.chars().next();
    // What may be repeated no times is not demanded.
    let optional = matches!(follows, Some('*' | '?' | '{'));
    let mut prefix = plain;
    if optional {
        prefix.pop();
    }
    (!prefix.is_empty()).then_some(prefix)
}

/// The first text behind all that begin with this one.
fn next_text(prefix: &str) -> Option<String> {
    let mut signs: Vec<char> = prefix.chars().collect();
    while let Some(last) = signs.pop() {
        let next = (last as u32 + 1..=char::MAX as u32).find_map(char::from_u32);
        if let Some(next) = next {
            signs.push(next);
            return Some(signs.into_iter().collect());
        }
    }
    None
}

/// Whole classes; arrays have no entry of their own, and null is also what is missing.
fn of_types(types: &TypeIs) -> Option<Vec<Interval>> {
    let mut union = Vec::new();
    for number in &types.numbers {
        union.push(Interval::class(match number {
            1 | 16 | 18 | 19 => 10,
            2 | 14 => 15,
            3 => 20,
            5 => 30,
            7 => 35,
            8 => 40,
            9 => 45,
            11 => 50,
            17 => 47,
            _ => return None,
        }));
    }
    Some(merge(union))
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;
