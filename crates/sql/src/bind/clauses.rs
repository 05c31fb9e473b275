//! The select list, the order and the row counts.

use std::collections::HashSet;

use lapsedb_value::{Str, Value};

use super::{Binder, rank};
use crate::ast::{self, Count, ExprKind, OrderBy, Query, SelectList};
use crate::error::SqlError;
use crate::limits::COUNT_MAX;
use crate::plan::{BoundOrder, BoundSource, Expr, ExprKind as PlanKind, Projection};
use crate::span::Span;

impl Binder<'_> {
    /// What each row yields.
    pub(super) fn projection(
        &mut self,
        query: &Query,
        sources: &[BoundSource],
    ) -> Result<Projection, SqlError> {
        match &query.select.list {
            SelectList::Star(span) => star(query, sources, *span),
            SelectList::Value(expr) => Ok(Projection::Value(self.expr(expr)?)),
            SelectList::Items(items) => {
                let mut unnamed = 0;
                let mut members: Vec<(Str, Expr)> = Vec::with_capacity(items.len());
                let mut names = HashSet::with_capacity(items.len());
                for item in items {
                    let name = match (&item.alias, implied_name(&item.expr)) {
                        (Some(alias), _) => alias.text.clone(),
                        (None, Some(name)) => name,
                        (None, None) => {
                            unnamed += 1;
                            Str::from(format!("${unnamed}"))
                        }
                    };
                    if !names.insert(name.clone()) {
                        // The service's code for this text is not known.
                        let message = format!(
                            "Cannot define multiple properties with the same name '{name}'."
                        );
                        return Err(SqlError::new("SC2014", message, item.expr.span));
                    }
                    members.push((name, self.expr(&item.expr)?));
                }
                Ok(Projection::Object(members))
            }
        }
    }

    /// What the rows are sorted by.
    pub(super) fn order(&mut self, query: &Query) -> Result<Vec<BoundOrder>, SqlError> {
        let items = match &query.order_by {
            OrderBy::None | OrderBy::Rank(..) => return Ok(Vec::new()),
            OrderBy::Items(items) => items,
        };
        let mut order = Vec::with_capacity(items.len());
        for item in items {
            let expr = self.expr(&item.expr)?;
            let path = self.path(&expr);
            let nearest = rank::nearest_is_largest(&expr);
            let computed = self.computed_name(&item.expr);
            if path.is_none() && nearest.is_none() && computed.is_none() {
                return Err(self.unordered(query, &expr));
            }
            if !query.group_by.is_empty() {
                return Err(ungrouped_order(&item.expr));
            }
            if nearest.is_some() && item.descending.is_some() {
                // The service's code for this text is not known.
                let message = "Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported.";
                return Err(SqlError::new("SC2221", message, item.expr.span));
            }
            // The nearest vectors come first.
            let descending = item.descending.or(nearest).unwrap_or(false);
            order.push(BoundOrder {
                expr,
                descending,
                path,
                computed,
            });
        }
        Ok(order)
    }

    /// Rows to leave out and rows that may follow.
    pub(super) fn window(&mut self, query: &Query) -> Result<(u64, Option<u64>), SqlError> {
        match (&query.select.top, &query.window) {
            (None, None) => Ok((0, None)),
            (Some(top), None) => Ok((0, Some(self.count(top, "TOP")?))),
            (None, Some(window)) => {
                let offset = self.count(&window.offset, "OFFSET")?;
                Ok((offset, Some(self.count(&window.limit, "LIMIT")?)))
            }
            // The service's code for this text is not known.
            (Some(_), Some(window)) => Err(SqlError::new(
                "SC2061",
                "'OFFSET LIMIT' clause cannot be used with 'TOP'.",
                window.span,
            )),
        }
    }

    fn count(&self, count: &Count, clause: &'static str) -> Result<u64, SqlError> {
        let (value, span) = match count {
            Count::Literal(value, span) => (*value, *span),
            Count::Parameter(name) => {
                let value = self.parameter(&name.text, name.span)?;
                (
                    value
                        .as_f64()
                        .ok_or_else(|| not_integer(clause, name.span))?,
                    name.span,
                )
            }
        };
        if value < 0.0 || value.trunc() != value {
            return Err(not_integer(clause, span));
        }
        if value > COUNT_MAX as f64 {
            let code = if clause == "OFFSET" {
                "SC2062"
            } else {
                "SC2061"
            };
            let message = format!("The {clause} count value exceeds the maximum allowed value.");
            return Err(SqlError::new(code, message, span));
        }
        Ok(value as u64)
    }
}

fn not_integer(clause: &str, span: Span) -> SqlError {
    let message = format!("The count value provided for a {clause} clause must be an integer.");
    SqlError::new("SC2060", message, span)
}

/// `SELECT *`: the only source.
fn star(query: &Query, sources: &[BoundSource], span: Span) -> Result<Projection, SqlError> {
    if !query.group_by.is_empty() {
        return Err(SqlError::new(
            "SC2041",
            "'SELECT *' is not allowed with GROUP BY.",
            span,
        ));
    }
    match (query.from.len(), sources.last()) {
        (1, Some(source)) => Ok(Projection::Value(Expr::new(
            PlanKind::Slot(source.slot),
            span,
        ))),
        _ => Err(SqlError::new(
            "SC2027",
            "'SELECT *' is not valid if FROM clause is omitted or multiple sources exist.",
            span,
        )),
    }
}

/// The name that an expression brings along: the last name of a path.
fn implied_name(expr: &ast::Expr) -> Option<Str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Member(_, name) => Some(name.text.clone()),
        _ => None,
    }
}

fn ungrouped_order(expr: &ast::Expr) -> SqlError {
    let path = path_text(expr).unwrap_or_default();
    let message = format!(
        "Property reference '{path}' is invalid in the ORDER BY clause because it is not contained in either an \
         aggregate function or the GROUP BY clause."
    );
    SqlError::new("SC2103", message, expr.span)
}

/// A path as text, for messages.
fn path_text(expr: &ast::Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.to_string()),
        ExprKind::Member(base, name) => Some(format!("{}.{}", path_text(base)?, name.text)),
        ExprKind::Index(base, index) => match &index.kind {
            ExprKind::Literal(value @ (Value::Int32(_) | Value::Int64(_))) => {
                Some(format!("{}[{value}]", path_text(base)?))
            }
            _ => None,
        },
        _ => None,
    }
}
