//! Which queries compute something of aggregates.

use crate::ast::{Expr, ExprKind, Query, SelectList};
use crate::plan::AggregateKind;

/// Whether an aggregate is a part of what a row shows, and not all of it.
pub(crate) fn of_aggregates(query: &Query) -> bool {
    match &query.select.list {
        SelectList::Star(_) => false,
        SelectList::Value(value) => is_composed(value),
        SelectList::Items(items) => items.iter().any(|item| is_composed(&item.expr)),
    }
}

fn is_composed(expr: &Expr) -> bool {
    !is_aggregate(expr) && has_aggregate(expr)
}

fn is_aggregate(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call {
            name, user_defined, ..
        } => !user_defined && AggregateKind::from_name(&name.text).is_some(),
        _ => false,
    }
}

/// Whether an aggregate of this query stands in the expression; those of subqueries are their own.
fn has_aggregate(expr: &Expr) -> bool {
    let any = |exprs: &[Expr]| exprs.iter().any(has_aggregate);
    is_aggregate(expr)
        || match &expr.kind {
            ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Name(_)
            | ExprKind::Subquery(..) => false,
            ExprKind::Member(base, _) | ExprKind::Unary(_, base) => has_aggregate(base),
            ExprKind::Index(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Coalesce(a, b)
            | ExprKind::Let(_, a, b) => has_aggregate(a) || has_aggregate(b),
            ExprKind::Chain(first, rest) => {
                has_aggregate(first) || rest.iter().any(|(_, expr)| has_aggregate(expr))
            }
            ExprKind::Array(items) | ExprKind::And(items) | ExprKind::Or(items) => any(items),
            ExprKind::Object(members) => members.iter().any(|(_, expr)| has_aggregate(expr)),
            ExprKind::Conditional(a, b, c) => {
                has_aggregate(a) || has_aggregate(b) || has_aggregate(c)
            }
            ExprKind::In { needle, list, .. } => has_aggregate(needle) || any(list),
            ExprKind::Between {
                value, low, high, ..
            } => has_aggregate(value) || has_aggregate(low) || has_aggregate(high),
            ExprKind::Like { value, pattern, .. } => has_aggregate(value) || has_aggregate(pattern),
            ExprKind::Call { args, .. } => any(args),
        }
}
