//! Which paths of a document a query reads.

use lapsedb_value::path::{Path, Segment};

use super::origin::Places;
use crate::plan::{BoundQuery, Expr, ExprKind, Projection, SourceKind};

/// All paths that a query over whole documents reads; none if it reads a document whole, or in a way that is not looked into.
pub(super) fn paths(query: &BoundQuery) -> Option<Vec<Path>> {
    let [source] = query.sources.as_slice() else {
        return None;
    };
    if !matches!(source.kind, SourceKind::Container) || source.iterates || query.rank.is_some() {
        return None;
    }
    let mut reads = Reads {
        places: Places::of(&query.sources),
        paths: Vec::new(),
    };
    for expr in query
        .filter
        .iter()
        .chain(query.order.iter().map(|item| &item.expr))
    {
        reads.expr(expr)?;
    }
    if let Some(grouping) = &query.grouping {
        for (_, key) in &grouping.keys {
            reads.expr(key)?;
        }
        for (_, _, argument) in &grouping.aggregates {
            reads.expr(argument)?;
        }
    }
    match &query.projection {
        Projection::Value(expr) => reads.expr(expr)?,
        Projection::Object(members) => {
            for (_, expr) in members {
                reads.expr(expr)?;
            }
        }
    }
    Some(reads.paths)
}

struct Reads {
    places: Places,
    paths: Vec<Path>,
}

impl Reads {
    fn expr(&mut self, expr: &Expr) -> Option<()> {
        if let Some(path) = self.places.path(expr) {
            // The whole document, and single elements of arrays, are more than one entry tells.
            if path.segments().is_empty() || path.segments().contains(&Segment::Elements) {
                return None;
            }
            if !self.paths.contains(&path) {
                self.paths.push(path);
            }
            return Some(());
        }
        match &expr.kind {
            ExprKind::Constant(_) | ExprKind::Slot(_) => Some(()),
            ExprKind::Member(base, _) => self.expr(base),
            ExprKind::Index(base, index) => self.all([base.as_ref(), index.as_ref()]),
            ExprKind::Array(items) | ExprKind::And(items) | ExprKind::Or(items) => self.all(items),
            ExprKind::Object(members) => self.all(members.iter().map(|(_, expr)| expr)),
            ExprKind::Unary(_, operand) => self.expr(operand),
            ExprKind::Binary(_, left, right) | ExprKind::Coalesce(left, right) => {
                self.all([left.as_ref(), right.as_ref()])
            }
            ExprKind::Conditional(condition, yes, no) => {
                self.all([condition.as_ref(), yes.as_ref(), no.as_ref()])
            }
            ExprKind::In { needle, list, .. } => {
                self.expr(needle)?;
                self.all(list)
            }
            ExprKind::Between {
                value, low, high, ..
            } => self.all([value.as_ref(), low.as_ref(), high.as_ref()]),
            ExprKind::Like { value, pattern, .. } => self.all([value.as_ref(), pattern.as_ref()]),
            ExprKind::Chain(first, rest) => {
                self.expr(first)?;
                self.all(rest.iter().map(|(_, operand)| operand))
            }
            ExprKind::Call(_, arguments) | ExprKind::UserFunction(_, arguments) => {
                self.all(arguments)
            }
            ExprKind::Let(_, value, body) => self.all([value.as_ref(), body.as_ref()]),
            ExprKind::Subquery(..) => None,
        }
    }

    fn all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Option<()> {
        exprs.into_iter().try_for_each(|expr| self.expr(expr))
    }
}
