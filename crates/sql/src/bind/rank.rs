//! `ORDER BY RANK`.

use lapsedb_value::{Str, Value};

use super::Binder;
use crate::ast::{self, OrderBy, Query, RankBy};
use crate::error::SqlError;
use crate::plan::{Expr, ExprKind, Rank, RankComponent};

/// For the distance of two vectors, whether a large one means that they are near.
pub(super) fn nearest_is_largest(expr: &Expr) -> Option<bool> {
    let ExprKind::Call(function, args) = &expr.kind else {
        return None;
    };
    if function.name != "VectorDistance" {
        return None;
    }
    let metric = args
        .get(3)
        .and_then(Expr::constant)
        .map(|options| options.get("distanceFunction"));
    let euclidean = metric
        .and_then(Value::as_str)
        .is_some_and(|name| name.eq_ignore_ascii_case("euclidean"));
    Some(!euclidean)
}

/// Whether rows can be sorted by an expression that is no path: a distance.
pub(super) fn can_be_sorted_by(expr: &Expr) -> bool {
    const SORTABLE: [&str; 2] = ["ST_DISTANCE", "VectorDistance"];
    matches!(&expr.kind, ExprKind::Call(function, _) if SORTABLE.contains(&function.name))
}

impl Binder<'_> {
    /// What the rows are ranked by, if they are.
    pub(super) fn rank(&mut self, query: &Query, plain: bool) -> Result<Option<Rank>, SqlError> {
        let OrderBy::Rank(RankBy { call, sorted, span }) = &query.order_by else {
            return Ok(None);
        };
        check_sources(query)?;
        if *sorted {
            return Err(SqlError::rank_sort_order(*span));
        }
        if !plain || query.select.distinct {
            // The service's code for this text is not known.
            let message = "The ORDER BY RANK clause cannot be combined with aggregates, GROUP BY or DISTINCT.";
            return Err(SqlError::new("SC2221", message, *span));
        }
        let ast::ExprKind::Call { name, args, .. } = &call.kind else {
            return Err(SqlError::not_ranked(*span));
        };
        if !name.text.eq_ignore_ascii_case("RRF") {
            return Ok(Some(Rank {
                components: vec![(self.component(call)?, 1.0)],
            }));
        }
        let (args, weights) = match args.split_last() {
            Some((last, rest))
                if matches!(
                    last.kind,
                    ast::ExprKind::Array(_) | ast::ExprKind::Parameter(_)
                ) =>
            {
                (rest, Some(self.weights(last, rest.len())?))
            }
            _ => (args.as_slice(), None),
        };
        if args.len() < 2 {
            return Err(SqlError::arity("RRF", 2, None, *span));
        }
        let mut components = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            let weight = weights
                .as_ref()
                .and_then(|weights| weights.get(at))
                .copied()
                .unwrap_or(1.0);
            components.push((self.component(arg)?, weight));
        }
        Ok(Some(Rank { components }))
    }

    fn component(&mut self, expr: &ast::Expr) -> Result<RankComponent, SqlError> {
        let ast::ExprKind::Call { name, args, .. } = &expr.kind else {
            return Err(SqlError::not_ranked(expr.span));
        };
        if name.text.eq_ignore_ascii_case("VectorDistance") {
            let distance = self.expr(expr)?;
            let descending = nearest_is_largest(&distance).unwrap_or(true);
            return Ok(RankComponent::Vector {
                distance,
                descending,
            });
        }
        if !name.text.eq_ignore_ascii_case("FullTextScore") {
            return Err(SqlError::not_ranked(expr.span));
        }
        let [text, wanted @ ..] = args.as_slice() else {
            return Err(SqlError::arity("FullTextScore", 2, None, expr.span));
        };
        if wanted.is_empty() {
            return Err(SqlError::arity("FullTextScore", 2, None, expr.span));
        }
        let text = self.expr(text)?;
        let mut terms = Vec::new();
        for term in wanted {
            let bound = self.expr(term)?;
            collect(bound.constant(), &mut terms).ok_or_else(|| {
                // The service's code for this text is not known.
                SqlError::new(
                    "SC2240",
                    "The terms of FullTextScore must be constant strings.",
                    term.span,
                )
            })?;
        }
        Ok(RankComponent::FullText { text, terms })
    }

    fn weights(&mut self, expr: &ast::Expr, count: usize) -> Result<Vec<f64>, SqlError> {
        let bound = self.expr(expr)?;
        let weights = bound.constant().and_then(Value::as_array);
        let weights = weights.and_then(|weights| {
            weights
                .iter()
                .map(Value::as_f64)
                .collect::<Option<Vec<f64>>>()
        });
        match weights {
            Some(weights) if weights.len() == count => Ok(weights),
            // The service's code for this text is not known.
            _ => Err(SqlError::new(
                "SC2221",
                "RRF needs one weight for each of its functions.",
                expr.span,
            )),
        }
    }
}

/// A term, or an array of terms.
fn collect(value: Option<&Value>, terms: &mut Vec<Str>) -> Option<()> {
    match value? {
        Value::String(term) => terms.push(term.clone()),
        Value::Array(items) => {
            for item in items {
                terms.push(Str::new(item.as_str()?));
            }
        }
        _ => return None,
    }
    Some(())
}

fn check_sources(query: &Query) -> Result<(), SqlError> {
    match query.from.as_slice() {
        [source] if source.is_query() => Err(SqlError::rank_of_subquery(source.span)),
        [source] if source.iterates => Err(SqlError::rank_of_elements(source.span)),
        [_] | [] => Ok(()),
        [_, joined, ..] => Err(SqlError::rank_of_join(joined.span)),
    }
}
