//! After grouping, rows are gone: only group keys and aggregates can be projected.

use std::ops::Range;

use lapsedb_value::order::deep_equal;

use crate::error::SqlError;
use crate::plan::{BinaryOp, BoundQuery, Expr, ExprKind, Projection, Slot, SourceKind};
use crate::span::Span;

/// What may be referred to after grouping.
struct Rewriter<'a> {
    keys: &'a [(Slot, Expr)],
    rows: &'a Range<Slot>,
    /// What a part of the query's text says.
    text: &'a dyn Fn(Span) -> String,
    /// What is wrong about a reference to a row.
    refused: fn(&str, Span) -> SqlError,
}

/// Puts the variables of the group keys in the place of the expressions they hold, and refuses what
/// refers to a row otherwise.
pub(super) fn rewrite(
    projection: Projection,
    keys: &[(Slot, Expr)],
    rows: &Range<Slot>,
    text: &dyn Fn(Span) -> String,
) -> Result<Projection, SqlError> {
    let rewriter = Rewriter {
        keys,
        rows,
        text,
        refused: SqlError::not_grouped,
    };
    match projection {
        Projection::Value(expr) => Ok(Projection::Value(rewriter.expr(expr)?)),
        Projection::Object(members) => Ok(Projection::Object(rewriter.members(members)?)),
    }
}

/// The same for a value to sort by: only keys that are paths may be referred to.
pub(super) fn rewrite_order(
    order: Expr,
    keys: &[(Slot, Expr)],
    rows: &Range<Slot>,
    text: &dyn Fn(Span) -> String,
) -> Result<Expr, SqlError> {
    let rewriter = Rewriter {
        keys,
        rows,
        text,
        refused: SqlError::not_grouped_in_order_by,
    };
    rewriter.expr(order)
}

impl Rewriter<'_> {
    fn expr(&self, expr: Expr) -> Result<Expr, SqlError> {
        if let Some((slot, _)) = self.keys.iter().find(|(_, key)| same(key, &expr)) {
            return Ok(Expr::new(ExprKind::Slot(*slot), expr.span));
        }
        let span = expr.span;
        match expr.kind {
            ExprKind::Slot(slot) if self.rows.contains(&slot) => {
                Err((self.refused)(&(self.text)(span), span))
            }
            kind => Ok(Expr::new(self.parts(kind, span)?, span)),
        }
    }

    /// The same with all its parts rewritten.
    fn parts(&self, kind: ExprKind, span: Span) -> Result<ExprKind, SqlError> {
        Ok(match kind {
            kind @ (ExprKind::Constant(_) | ExprKind::Slot(_)) => kind,
            ExprKind::Member(base, name) => ExprKind::Member(self.step(base, span)?, name),
            ExprKind::Index(base, index) => {
                ExprKind::Index(self.step(base, span)?, self.boxed(index)?)
            }
            ExprKind::Array(items) => ExprKind::Array(self.list(items)?),
            ExprKind::Object(members) => ExprKind::Object(self.members(members)?),
            ExprKind::Unary(op, operand) => ExprKind::Unary(op, self.boxed(operand)?),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(op, self.boxed(a)?, self.boxed(b)?),
            ExprKind::Chain(first, rest) => {
                ExprKind::Chain(self.boxed(first)?, self.members(rest)?)
            }
            ExprKind::And(terms) => ExprKind::And(self.list(terms)?),
            ExprKind::Or(terms) => ExprKind::Or(self.list(terms)?),
            ExprKind::Coalesce(a, b) => ExprKind::Coalesce(self.boxed(a)?, self.boxed(b)?),
            ExprKind::Conditional(a, b, c) => {
                ExprKind::Conditional(self.boxed(a)?, self.boxed(b)?, self.boxed(c)?)
            }
            ExprKind::In {
                needle,
                list,
                set,
                negated,
            } => {
                // What is constant stays what it is, and so does its set.
                ExprKind::In {
                    needle: self.boxed(needle)?,
                    list: self.list(list)?,
                    set,
                    negated,
                }
            }
            ExprKind::Between {
                value,
                low,
                high,
                negated,
            } => ExprKind::Between {
                value: self.boxed(value)?,
                low: self.boxed(low)?,
                high: self.boxed(high)?,
                negated,
            },
            ExprKind::Like {
                value,
                pattern,
                escape,
                negated,
            } => ExprKind::Like {
                value: self.boxed(value)?,
                pattern: self.boxed(pattern)?,
                escape,
                negated,
            },
            ExprKind::Call(function, args) => ExprKind::Call(function, self.list(args)?),
            ExprKind::UserFunction(name, args) => ExprKind::UserFunction(name, self.list(args)?),
            ExprKind::Subquery(kind, query) => {
                ExprKind::Subquery(kind, Box::new(self.query(*query)?))
            }
            ExprKind::Let(slot, value, body) => {
                ExprKind::Let(slot, self.boxed(value)?, self.boxed(body)?)
            }
        })
    }

    /// What a path goes on from. If that is wrong, the whole path is.
    #[allow(clippy::boxed_local)]
    fn step(&self, base: Box<Expr>, path: Span) -> Result<Box<Expr>, SqlError> {
        self.boxed(base).map_err(|error| {
            if error.start == path.start as usize {
                (self.refused)(&(self.text)(path), path)
            } else {
                error
            }
        })
    }

    // Takes the box so that callers can hand over what they matched out of a node.
    #[allow(clippy::boxed_local)]
    fn boxed(&self, expr: Box<Expr>) -> Result<Box<Expr>, SqlError> {
        Ok(Box::new(self.expr(*expr)?))
    }

    fn list(&self, exprs: Vec<Expr>) -> Result<Vec<Expr>, SqlError> {
        exprs.into_iter().map(|expr| self.expr(expr)).collect()
    }

    fn members<N>(&self, members: Vec<(N, Expr)>) -> Result<Vec<(N, Expr)>, SqlError> {
        members
            .into_iter()
            .map(|(name, expr)| Ok((name, self.expr(expr)?)))
            .collect()
    }

    /// A subquery in the projection sees the group, not the row.
    fn query(&self, mut query: BoundQuery) -> Result<BoundQuery, SqlError> {
        for source in &mut query.sources {
            source.kind = match std::mem::replace(&mut source.kind, SourceKind::Container) {
                SourceKind::Container => SourceKind::Container,
                SourceKind::Value(expr) => SourceKind::Value(self.expr(expr)?),
                SourceKind::Rows(inner) => SourceKind::Rows(Box::new(self.query(*inner)?)),
                SourceKind::Feed(inner) => SourceKind::Feed(Box::new(self.query(*inner)?)),
            };
        }
        query.filter = query.filter.map(|filter| self.expr(filter)).transpose()?;
        if let Some(grouping) = &mut query.grouping {
            grouping.keys = self.members(std::mem::take(&mut grouping.keys))?;
            for (_, _, argument) in &mut grouping.aggregates {
                *argument = self.expr(argument.clone())?;
            }
        }
        query.projection = match query.projection {
            Projection::Value(expr) => Projection::Value(self.expr(expr)?),
            Projection::Object(members) => Projection::Object(self.members(members)?),
        };
        Ok(query)
    }
}

/// Whether two expressions always have the same value.
fn same(a: &Expr, b: &Expr) -> bool {
    let all =
        |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
    match (&a.kind, &b.kind) {
        (ExprKind::Constant(a), ExprKind::Constant(b)) => deep_equal(a, b),
        (ExprKind::Slot(a), ExprKind::Slot(b)) => a == b,
        (ExprKind::Member(a, x), ExprKind::Member(b, y)) => x == y && same(a, b),
        (ExprKind::Index(a, x), ExprKind::Index(b, y)) => same(a, b) && same(x, y),
        (ExprKind::Array(a), ExprKind::Array(b)) => all(a, b),
        (ExprKind::And(a), ExprKind::And(b)) | (ExprKind::Or(a), ExprKind::Or(b)) => all(a, b),
        (ExprKind::Object(a), ExprKind::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((n, a), (m, b))| n == m && same(a, b))
        }
        (ExprKind::Unary(x, a), ExprKind::Unary(y, b)) => x == y && same(a, b),
        (ExprKind::Binary(x, a, c), ExprKind::Binary(y, b, d)) => {
            x == y && same(a, b) && same(c, d)
        }
        (ExprKind::Chain(a, x), ExprKind::Chain(b, y)) => {
            let alike =
                |((o, a), (p, b)): (&(BinaryOp, Expr), &(BinaryOp, Expr))| o == p && same(a, b);
            same(a, b) && x.len() == y.len() && x.iter().zip(y).all(alike)
        }
        (ExprKind::UserFunction(f, a), ExprKind::UserFunction(g, b)) => f == g && all(a, b),
        (ExprKind::Coalesce(a, c), ExprKind::Coalesce(b, d)) => same(a, b) && same(c, d),
        (ExprKind::Conditional(a, c, e), ExprKind::Conditional(b, d, f)) => {
            same(a, b) && same(c, d) && same(e, f)
        }
        (ExprKind::Call(f, a), ExprKind::Call(g, b)) => {
            f.name == g.name && f.is_pure() && all(a, b)
        }
        // The remaining forms are rare as group keys; taking them for different is safe.
        _ => false,
    }
}

/// Whether an expression is a part of one variable, found by names and places.
pub(super) fn is_path(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Slot(_) => true,
        ExprKind::Member(base, _) => is_path(base),
        ExprKind::Index(base, index) => is_path(base) && index.constant().is_some(),
        _ => false,
    }
}

/// Whether an expression refers to a variable at all; what is constant does not.
pub(super) fn refers_to_a_row(expr: &Expr) -> bool {
    // Subqueries are refused where rows are grouped.
    if let ExprKind::Slot(_) | ExprKind::Subquery(..) = expr.kind {
        return true;
    }
    let mut refers = false;
    expr.each_part(&mut |part| refers = refers || refers_to_a_row(part));
    refers
}
