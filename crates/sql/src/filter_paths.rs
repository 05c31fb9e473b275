//! Which paths of the document a query looks for something at.

use crate::bind::Origins;
use crate::plan::{BinaryOp, Expr, ExprKind, Projection, Step};

/// Functions that an index answers, also where a query asks for their results.
const SEARCHES: [&str; 5] = [
    "STARTSWITH",
    "ENDSWITH",
    "CONTAINS",
    "STRINGEQUALS",
    "REGEXMATCH",
];

/// What a path is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// One value.
    Equality,
    /// All values above or below one, or between two.
    Range,
}

/// The paths that a filter compares with constants, each time it does so: what all rows must have, not what some may have.
pub(crate) fn comparisons_in(filter: &Expr, origins: &Origins) -> Vec<(Vec<Step>, Comparison)> {
    match &filter.kind {
        ExprKind::And(terms) => {
            let terms = terms.iter().map(|term| comparisons_in(term, origins));
            terms.flatten().collect()
        }
        ExprKind::Binary(op, a, b) => {
            let comparison = match op {
                BinaryOp::Equal => Comparison::Equality,
                BinaryOp::Less
                | BinaryOp::LessOrEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterOrEqual => Comparison::Range,
                _ => return Vec::new(),
            };
            let compared = match (a.constant(), b.constant()) {
                (None, Some(_)) => origins.path(a),
                (Some(_), None) => origins.path(b),
                (None, None) | (Some(_), Some(_)) => None,
            };
            compared
                .map(|path| (path, comparison))
                .into_iter()
                .collect()
        }
        ExprKind::Between {
            value,
            low,
            high,
            negated: false,
        } if low.constant().is_some() && high.constant().is_some() => {
            let path = origins.path(value);
            path.map(|path| (path, Comparison::Range))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The paths that a query searches to make its result, not to choose its rows.
pub(crate) fn searched_by(projection: &Projection, origins: &Origins) -> Vec<Vec<Step>> {
    match projection {
        Projection::Value(result) => match &result.kind {
            ExprKind::Call(function, _)
                if SEARCHES
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(function.name)) =>
            {
                paths_in(result, origins)
            }
            _ => Vec::new(),
        },
        Projection::Object(_) => Vec::new(),
    }
}

/// The paths in an expression, each once, in the order they stand there. Those inside subqueries are left out: they are
/// paths of other rows.
pub(crate) fn paths_in(expr: &Expr, origins: &Origins) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    collect(expr, origins, &mut found);
    found
}

fn collect(expr: &Expr, origins: &Origins, found: &mut Vec<Vec<Step>>) {
    if let Some(path) = origins.path(expr) {
        if !path.is_empty() && !found.contains(&path) {
            found.push(path);
        }
        return;
    }
    expr.each_part(&mut |part| collect(part, origins, found));
}
