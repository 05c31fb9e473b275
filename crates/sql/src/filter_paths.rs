//! Which paths of the document a filter looks at.

use crate::bind::Origins;
use crate::plan::{Expr, ExprKind, Step};

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
    let mut each = |exprs: &[&Expr]| exprs.iter().for_each(|expr| collect(expr, origins, found));
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Slot(_) | ExprKind::Subquery(..) => {}
        ExprKind::Member(base, _) => each(&[base]),
        ExprKind::Unary(_, operand) => each(&[operand]),
        ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Coalesce(a, b) => {
            each(&[a, b]);
        }
        ExprKind::Conditional(a, b, c) => each(&[a, b, c]),
        ExprKind::Array(items) | ExprKind::And(items) | ExprKind::Or(items) => {
            items.iter().for_each(|item| each(&[item]));
        }
        ExprKind::Call(_, args) => args.iter().for_each(|arg| each(&[arg])),
        ExprKind::Object(members) => members.iter().for_each(|(_, value)| each(&[value])),
        ExprKind::In { needle, list, .. } => {
            each(&[needle]);
            list.iter().for_each(|item| each(&[item]));
        }
        ExprKind::Between {
            value, low, high, ..
        } => each(&[value, low, high]),
        ExprKind::Like { value, pattern, .. } => each(&[value, pattern]),
    }
}
