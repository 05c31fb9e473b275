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
        if let ExprKind::Subquery(..) = expr.kind {
            return None;
        }
        let mut known = Some(());
        expr.each_part(&mut |part| known = known.and_then(|()| self.expr(part)));
        known
    }
}
