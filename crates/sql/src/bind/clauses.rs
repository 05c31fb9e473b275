//! The select list, the order and the row counts.

use std::collections::HashSet;

use lapsedb_value::Str;

use super::{Binder, group, rank};
use crate::ast::{self, Count, ExprKind, Name, OrderBy, Query, SelectList};
use crate::error::SqlError;
use crate::limits::COUNT_MAX;
use crate::plan::{BoundOrder, BoundQuery, BoundSource, Expr, ExprKind as PlanKind, Projection};
use crate::span::Span;

impl Binder<'_> {
    /// What each row yields.
    pub(super) fn projection(
        &mut self,
        query: &Query,
        sources: &[BoundSource],
    ) -> Result<Projection, SqlError> {
        match &query.select.list {
            SelectList::Star(span) => Ok(Projection::Value(self.star(sources, *span))),
            SelectList::Value(expr) => Ok(Projection::Value(self.expr(expr)?)),
            SelectList::Items(items) => {
                let given: Vec<Option<Name>> = items
                    .iter()
                    .map(|item| item.alias.clone().or_else(|| implied_name(&item.expr)))
                    .collect();
                let taken: HashSet<Str> = given
                    .iter()
                    .flatten()
                    .map(|name| name.text.clone())
                    .collect();
                let mut free = (1..)
                    .map(|n: u32| Str::from(format!("${n}")))
                    .filter(|name| !taken.contains(name));
                let mut members: Vec<(Str, Expr)> = Vec::with_capacity(items.len());
                let mut names = HashSet::with_capacity(items.len());
                for (item, name) in items.iter().zip(given) {
                    let name = name.unwrap_or_else(|| Name {
                        text: free.next().unwrap_or_default(),
                        span: item.expr.span,
                    });
                    if !names.insert(name.text.clone()) {
                        return Err(SqlError::property_twice(&name.text, name.span));
                    }
                    members.push((name.text, self.expr(&item.expr)?));
                }
                Ok(Projection::Object(members))
            }
        }
    }

    /// `*`: the only source. In a subquery without sources it is the outermost one around it.
    fn star(&self, sources: &[BoundSource], span: Span) -> Expr {
        let slot = sources.last().map(|source| source.slot);
        let slot = slot.or_else(|| self.scope.first().map(|alias| alias.slot));
        let kind = match slot {
            Some(slot) => PlanKind::Slot(slot),
            None => PlanKind::Object(Vec::new()),
        };
        Expr::new(kind, span)
    }

    /// Refuses `*` where there is no single row to show.
    pub(super) fn check_star(
        &self,
        query: &Query,
        sources: &[BoundSource],
        aggregates: bool,
    ) -> Result<(), SqlError> {
        let SelectList::Star(span) = query.select.list else {
            return Ok(());
        };
        // The elements of a subquery's rows count as a second source.
        let several = query.from.len() > 1
            || query
                .from
                .iter()
                .any(|source| source.iterates && source.is_query());
        if !query.group_by.keys.is_empty() {
            Err(SqlError::star_with_group_by(span))
        } else if aggregates {
            Err(SqlError::star_with_aggregate(span))
        } else if several && !sources.is_empty() {
            Err(SqlError::star_of_several(span))
        } else {
            Ok(())
        }
    }

    /// What the rows are sorted by. Whether that is possible is known later, see [`Binder::check_order`].
    pub(super) fn order(&mut self, query: &Query) -> Result<Vec<BoundOrder>, SqlError> {
        let items = match &query.order_by {
            OrderBy::None | OrderBy::Rank(_) => return Ok(Vec::new()),
            OrderBy::Items(items, _) => items,
        };
        let mut order = Vec::with_capacity(items.len());
        for item in items {
            self.ordering = true;
            let expr = self.expr(&item.expr);
            self.ordering = false;
            let expr = expr?;
            let path = self.path(&expr);
            let nearest = rank::nearest_is_largest(&expr);
            let computed = self.computed_name(&item.expr);
            if rank::has_fixed_direction(&expr) && item.descending.is_some() {
                return Err(SqlError::vector_sort_order(item.span));
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

    /// Refuses what rows cannot be sorted by. What the service plans and does not run is noted.
    pub(super) fn check_order(
        &mut self,
        query: &Query,
        bound: &mut BoundQuery,
    ) -> Result<(), SqlError> {
        if query.from.is_empty() {
            // There is one row.
            bound.order.clear();
        }
        for item in &bound.order {
            if item.path.is_some() || item.computed.is_some() {
                continue;
            }
            if group::is_path(&item.expr) && !is_aggregate(bound, &item.expr) {
                if bound.grouping.is_none() {
                    let error = self.unordered(query, &item.expr);
                    self.not_run.get_or_insert(error);
                }
                continue;
            }
            if bound.order.len() > 1 || !rank::can_be_sorted_by(&item.expr) {
                return Err(SqlError::unsupported_order(Span::default()));
            }
        }
        Ok(())
    }

    /// Rows to leave out and rows that may follow.
    pub(super) fn window(&mut self, query: &Query) -> Result<(u64, Option<u64>), SqlError> {
        match (&query.select.top, &query.window) {
            (None, None) => Ok((0, None)),
            (Some(top), None) => Ok((0, Some(self.count(&top.count, SqlError::top_count)?))),
            (None, Some(window)) => {
                let offset = self.count(&window.offset, SqlError::offset_count)?;
                let limit = self.count(&window.limit, SqlError::limit_count)?;
                Ok((offset, Some(limit)))
            }
            (Some(_), Some(_)) => Err(SqlError::top_with_offset(query.span)),
        }
    }

    fn count(&self, count: &Count, refused: fn(Span) -> SqlError) -> Result<u64, SqlError> {
        let (value, span) = match count {
            Count::Literal(value, span) => (value.clone(), *span),
            Count::Parameter(name) => (self.parameter(&name.text)?, name.span),
        };
        let count = value.as_i64().and_then(|n| u64::try_from(n).ok());
        count
            .filter(|count| *count <= COUNT_MAX)
            .ok_or_else(|| refused(span))
    }
}

/// The name that an expression brings along: the last name of a path.
fn implied_name(expr: &ast::Expr) -> Option<Name> {
    match &expr.kind {
        ExprKind::Name(name) => Some(Name {
            text: name.clone(),
            span: expr.span,
        }),
        ExprKind::Member(_, name) => Some(name.clone()),
        _ => None,
    }
}

/// Whether an expression is the variable of an aggregate.
fn is_aggregate(query: &BoundQuery, expr: &Expr) -> bool {
    let aggregates = query
        .grouping
        .iter()
        .flat_map(|grouping| &grouping.aggregates);
    let PlanKind::Slot(slot) = expr.kind else {
        return false;
    };
    aggregates
        .into_iter()
        .any(|(aggregate, _, _)| *aggregate == slot)
}
