//! After grouping, rows are gone: only group keys and aggregates can be projected.

use std::ops::Range;

use lapsedb_value::Str;
use lapsedb_value::order::deep_equal;

use crate::error::SqlError;
use crate::plan::{BoundQuery, Expr, ExprKind, Projection, Slot, SourceKind};

/// What may be referred to after grouping.
struct Rewriter<'a> {
    keys: &'a [(Slot, Expr)],
    rows: &'a Range<Slot>,
    name: &'a dyn Fn(Slot) -> Str,
}

/// Puts the variables of the group keys in the place of the expressions they hold, and refuses what
/// refers to a row otherwise.
pub(super) fn rewrite(
    projection: Projection,
    keys: &[(Slot, Expr)],
    rows: &Range<Slot>,
    name: &dyn Fn(Slot) -> Str,
) -> Result<Projection, SqlError> {
    let rewriter = Rewriter { keys, rows, name };
    match projection {
        Projection::Value(expr) => Ok(Projection::Value(rewriter.expr(expr)?)),
        Projection::Object(members) => Ok(Projection::Object(rewriter.members(members)?)),
    }
}

impl Rewriter<'_> {
    fn expr(&self, expr: Expr) -> Result<Expr, SqlError> {
        if let Some((slot, _)) = self.keys.iter().find(|(_, key)| same(key, &expr)) {
            return Ok(Expr::new(ExprKind::Slot(*slot), expr.span));
        }
        let span = expr.span;
        let kind = match expr.kind {
            ExprKind::Slot(slot) if self.rows.contains(&slot) => {
                return Err(SqlError::not_grouped(&(self.name)(slot), span));
            }
            kind @ (ExprKind::Constant(_) | ExprKind::Slot(_)) => kind,
            ExprKind::Member(base, name) => {
                let base = self.boxed(base).map_err(|error| at(error, &name, span))?;
                ExprKind::Member(base, name)
            }
            ExprKind::Index(base, index) => ExprKind::Index(self.boxed(base)?, self.boxed(index)?),
            ExprKind::Array(items) => ExprKind::Array(self.list(items)?),
            ExprKind::Object(members) => ExprKind::Object(self.members(members)?),
            ExprKind::Unary(op, operand) => ExprKind::Unary(op, self.boxed(operand)?),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(op, self.boxed(a)?, self.boxed(b)?),
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
            ExprKind::Subquery(kind, query) => {
                ExprKind::Subquery(kind, Box::new(self.query(*query)?))
            }
        };
        Ok(Expr::new(kind, span))
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

/// Says more exactly which reference is wrong: the whole path, not its root.
fn at(mut error: SqlError, name: &str, span: crate::span::Span) -> SqlError {
    if error.code == "SC2102" && error.start == span.start as usize {
        let root = error.message.split('\'').nth(1).unwrap_or_default();
        error = SqlError::not_grouped(&format!("{root}.{name}"), span);
    }
    error
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
