//! Computes what does not depend on a row, once.

use lapsedb_value::Value;

use super::Binder;
use crate::eval;
use crate::exec::is_finite;
use crate::limits::FOLDED_BYTES_MAX;
use crate::plan::{Expr, ExprKind};

impl Binder<'_> {
    /// The expression, or the constant that it always is. What fails to evaluate is left as it is: it
    /// fails again, or never, when the query runs.
    pub(super) fn folded(&self, expr: Expr) -> Expr {
        if self.ctx.charged() > FOLDED_BYTES_MAX || !is_constant(&expr) {
            return expr;
        }
        match eval::eval(&self.ctx, &expr, None).and_then(|value| eval::own(&self.ctx, value)) {
            // Its parts are evaluated with each row, where a number that is not finite is noticed.
            Ok(value @ (Value::Array(_) | Value::Object(_)))
                if self.ctx.has_nonfinite() && !is_finite(&value) =>
            {
                expr
            }
            Ok(value) => Expr::new(ExprKind::Constant(value), expr.span),
            Err(_) => expr,
        }
    }
}

/// Whether all parts are constants already and putting them together depends on nothing else.
fn is_constant(expr: &Expr) -> bool {
    let known = |expr: &Expr| expr.constant().is_some();
    match &expr.kind {
        // Nothing is gained by folding these again.
        ExprKind::Constant(_)
        | ExprKind::Slot(_)
        | ExprKind::Subquery(..)
        | ExprKind::Let(..)
        | ExprKind::UserFunction(..) => false,
        ExprKind::Member(base, _) => known(base),
        ExprKind::Unary(_, operand) => known(operand),
        ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Coalesce(a, b) => {
            known(a) && known(b)
        }
        ExprKind::Chain(first, rest) => known(first) && rest.iter().all(|(_, expr)| known(expr)),
        ExprKind::Conditional(a, b, c) => known(a) && known(b) && known(c),
        ExprKind::Array(items) | ExprKind::And(items) | ExprKind::Or(items) => {
            items.iter().all(known)
        }
        ExprKind::Object(members) => members.iter().all(|(_, expr)| known(expr)),
        ExprKind::In { needle, list, .. } => known(needle) && list.iter().all(known),
        ExprKind::Between {
            value, low, high, ..
        } => known(value) && known(low) && known(high),
        ExprKind::Like { value, pattern, .. } => known(value) && known(pattern),
        ExprKind::Call(function, args) => function.is_pure() && args.iter().all(known),
    }
}
