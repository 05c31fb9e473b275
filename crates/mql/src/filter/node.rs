//! The tree of a filter, and how documents are held against it.

use std::sync::Arc;

use lapsedb_value::{Object, Value};

use super::geo::Near;
use super::operators::Test;
use super::path::{FieldPath, Holder, Leaf, Walk};
use super::pathless::Expression;
use super::schema::Schema;
use crate::MqlError;
use crate::expressions::Env;
use crate::text::Search;

/// A part of a filter.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Nor(Vec<Node>),
    Not(Box<Node>),
    /// Matches nothing.
    Never,
    /// A question to the values at a path.
    Field {
        path: FieldPath,
        test: Test,
    },
    /// `$expr`.
    Expr(Expression),
    /// `$sampleRate`.
    Sample(f64),
    /// `$jsonSchema`.
    Schema(Box<Schema>),
    /// `$text`.
    Text(Arc<Search>),
}

/// One run of a filter over one document.
pub(crate) struct Run<'a> {
    /// The document, for expressions.
    pub(crate) root: &'a Object,
    pub(crate) env: &'a Env,
    /// The element of an array that made the last matching part match.
    pub(crate) position: Option<usize>,
    /// How well the texts of the document answer, once they were asked.
    pub(crate) score: Option<f64>,
    /// How far the nearest of its places is, once they were asked.
    pub(crate) distance: Option<f64>,
    /// What went wrong in an expression; then the answer means nothing.
    pub(crate) error: Option<MqlError>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(root: &'a Object, env: &'a Env) -> Run<'a> {
        Run {
            root,
            env,
            position: None,
            score: None,
            distance: None,
            error: None,
        }
    }

    /// What was found, or no if it could not be asked; then the filter fails as a whole.
    pub(crate) fn answer(&mut self, found: crate::Result<bool>) -> bool {
        match found {
            Ok(found) => found,
            Err(error) => {
                self.error.get_or_insert(error);
                false
            }
        }
    }

    /// Whether the filter goes on: it has not failed, and the request need not stop.
    fn goes_on(&mut self) -> bool {
        if self.error.is_some() {
            return false;
        }
        match self.env.budget().step() {
            Ok(()) => true,
            Err(stop) => {
                self.error = Some(stop.into());
                false
            }
        }
    }
}

impl Node {
    /// Whether the members of the holder fulfil it.
    pub(crate) fn matches(&self, holder: Holder<'_>, run: &mut Run<'_>) -> bool {
        if !run.goes_on() {
            return false;
        }
        match self {
            Node::And(parts) => parts.iter().all(|part| part.matches(holder, run)),
            Node::Or(parts) => unpositioned(run, |run| {
                parts.iter().any(|part| part.matches(holder, run))
            }),
            Node::Nor(parts) => unpositioned(run, |run| {
                !parts.iter().any(|part| part.matches(holder, run))
            }),
            Node::Not(part) => unpositioned(run, |run| !part.matches(holder, run)),
            Node::Never => false,
            Node::Field {
                path,
                test: Test::Near(near),
            } => near_matches(path, near, holder, run),
            Node::Field { path, test } => field_matches(path, test, holder, run),
            Node::Expr(expression) => expression.is_true(run),
            Node::Sample(rate) => run.env.random() < *rate,
            Node::Schema(schema) => schema.matches(run.root),
            Node::Text(search) => search_matches(search, run),
        }
    }

    /// Whether the value itself fulfils it, whatever path it speaks of.
    pub(crate) fn matches_value(&self, value: &Value, run: &mut Run<'_>) -> bool {
        if !run.goes_on() {
            return false;
        }
        match self {
            Node::And(parts) => parts.iter().all(|part| part.matches_value(value, run)),
            Node::Or(parts) => parts.iter().any(|part| part.matches_value(value, run)),
            Node::Nor(parts) => !parts.iter().any(|part| part.matches_value(value, run)),
            Node::Not(part) => !part.matches_value(value, run),
            Node::Field { test, .. } => test.matches(value, run),
            Node::Never => false,
            // The parser lets none of them into an element.
            Node::Expr(_) | Node::Sample(_) | Node::Schema(_) | Node::Text(_) => false,
        }
    }
}

/// What is denied, or only one of several ways to match, says nothing about the element that matched.
fn unpositioned(run: &mut Run<'_>, ask: impl FnOnce(&mut Run<'_>) -> bool) -> bool {
    let before = run.position;
    let answer = ask(run);
    run.position = before;
    answer
}

/// Looks at all places of the document, because the nearest one counts.
fn near_matches(path: &FieldPath, near: &Near, holder: Holder<'_>, run: &mut Run<'_>) -> bool {
    let distance = nearest(path, near, holder).map(|(distance, _)| distance);
    run.distance = distance.filter(|distance| near.is_in_range(*distance));
    run.distance.is_some()
}

/// The nearest place at a path, and how far it is.
pub(crate) fn nearest<'a>(
    path: &FieldPath,
    near: &Near,
    holder: Holder<'a>,
) -> Option<(f64, &'a Value)> {
    let mut nearest: Option<(f64, &'a Value)> = None;
    let mut visit = |value: &'a Value, _| {
        if let Some(distance) = near.distance(value)
            && nearest.is_none_or(|(least, _)| distance < least)
        {
            nearest = Some((distance, value));
        }
        false
    };
    let mut walk = Walk {
        leaf: Leaf::Elements,
        visit: &mut visit,
    };
    walk.from(holder, path.parts(), None);
    nearest
}

fn search_matches(search: &Search, run: &mut Run<'_>) -> bool {
    match search.score(run.root) {
        Ok(score) => {
            run.score = score;
            score.is_some()
        }
        Err(error) => {
            run.error.get_or_insert(error);
            false
        }
    }
}

fn field_matches(path: &FieldPath, test: &Test, holder: Holder<'_>, run: &mut Run<'_>) -> bool {
    let mut visit = |value: &Value, offset: Option<usize>| {
        let found = test.matches(value, run);
        if found && offset.is_some() {
            run.position = offset;
        }
        found
    };
    let mut walk = Walk {
        leaf: test.leaf(),
        visit: &mut visit,
    };
    walk.from(holder, path.parts(), None)
}
