//! `ORDER BY RANK`, and other orders by what is no path.

use lapsedb_value::Value;

use super::{Binder, group};
use crate::ast::{self, OrderBy, Query, RankBy};
use crate::error::SqlError;
use crate::functions::terms::Phrase;
use crate::plan::{Expr, ExprKind, Fusion, Rank, RankComponent};
use crate::span::Span;

/// How many times the wanted rows each ranking brings in if `RRF` does not say.
const DEFAULT_MULTIPLIER: f64 = 2.0;

/// For the nearness or distance of two vectors, whether a large one means that they are near.
pub(super) fn nearest_is_largest(expr: &Expr) -> Option<bool> {
    let ExprKind::Call(function, args) = &expr.kind else {
        return None;
    };
    match function.name {
        "_VectorScore" => return Some(true),
        "VectorDistance" => {}
        _ => return None,
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

/// Whether an order by an expression must not say a direction: the nearest vectors always come first.
pub(super) fn has_fixed_direction(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(function, _) if function.name == "VectorDistance")
}

/// Whether rows can be sorted by an expression that is no path: a distance or a score.
pub(super) fn can_be_sorted_by(expr: &Expr) -> bool {
    let ExprKind::Call(function, args) = &expr.kind else {
        return false;
    };
    match function.name {
        "ST_DISTANCE" | "_FullTextScore" | "_VectorScore" => true,
        "VectorDistance" => match args.as_slice() {
            [a, b, ..] => {
                (group::is_path(a) && is_vector(b)) || (is_vector(a) && group::is_path(b))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether an expression is an array of numbers, the same for every row.
fn is_vector(expr: &Expr) -> bool {
    let items = expr.constant().and_then(Value::as_array);
    items.is_some_and(|items| items.iter().all(|item| item.as_f64().is_some()))
}

impl Binder<'_> {
    /// What the rows are ranked by, if they are.
    pub(super) fn rank(&mut self, query: &Query) -> Result<Option<Rank>, SqlError> {
        let OrderBy::Rank(by) = &query.order_by else {
            return Ok(None);
        };
        self.check_clauses(query, by)?;
        let ast::ExprKind::Call {
            name,
            user_defined: false,
            args,
        } = &by.call.kind
        else {
            self.expr(&by.call)?;
            return Err(SqlError::not_ranked(by.span));
        };
        let fusion = match name.text.to_ascii_uppercase().as_str() {
            "RRF" => Fusion::Ranks(DEFAULT_MULTIPLIER),
            "COMBINEDSCORE" => Fusion::Sum,
            _ => {
                return Ok(Some(Rank {
                    components: vec![(self.component(&by.call, by.span)?, 1.0)],
                    fusion: Fusion::Sum,
                }));
            }
        };
        self.fused(args, fusion, by.span).map(Some)
    }

    /// Clauses that the service refuses beside this one.
    fn check_clauses(&self, query: &Query, by: &RankBy) -> Result<(), SqlError> {
        if query.select.distinct {
            return Err(SqlError::rank_with_distinct(query.select.span));
        }
        if by.sorted {
            return Err(SqlError::rank_sort_order(by.span));
        }
        match query.from.as_slice() {
            [source] if source.is_query() => {
                return Err(SqlError::rank_of_subquery(self.parenthesised(source)));
            }
            [source] if source.iterates => return Err(SqlError::rank_of_elements(source.span)),
            [_] | [] => {}
            [_, joined, ..] => return Err(SqlError::rank_of_join(joined.span)),
        }
        if let Some(aggregate) = self.first_aggregate {
            return Err(SqlError::rank_with_aggregate(aggregate));
        }
        if !query.group_by.keys.is_empty() {
            return Err(SqlError::rank_with_group_by(query.group_by.span));
        }
        Ok(())
    }

    /// The subquery that a source is, without the alias behind it.
    fn parenthesised(&self, source: &ast::Source) -> Span {
        let ast::Collection::Query(query) = &source.collection else {
            return source.span;
        };
        let mut rest = self.text.0.encode_utf16().skip(query.span.end as usize);
        let closing = rest.position(|unit| unit == u16::from(b')'));
        let closing = closing.and_then(|at| u32::try_from(at).ok());
        match closing.and_then(|at| query.span.end.checked_add(at + 1)) {
            Some(end) => Span {
                start: source.span.start,
                end: end.min(source.span.end),
            },
            None => source.span,
        }
    }

    /// `RRF(score, score, …[, weights][, multiplier])`
    fn fused(
        &mut self,
        args: &[ast::Expr],
        mut fusion: Fusion,
        clause: Span,
    ) -> Result<Rank, SqlError> {
        let mut scores = args;
        if let Some((last, rest)) = scores.split_last()
            && let Some(multiplier) = self.literal(last).as_ref().and_then(Value::as_f64)
        {
            scores = rest;
            if fusion != Fusion::Sum {
                fusion = Fusion::Ranks(multiplier);
            }
        }
        let weights = scores.split_last().filter(|(last, _)| {
            matches!(last.kind, ast::ExprKind::Array(_))
                || self
                    .literal(last)
                    .is_some_and(|value| value.as_array().is_some())
        });
        if let Some((_, rest)) = weights {
            scores = rest;
        }
        if scores.len() < 2 {
            return Err(SqlError::too_few_scores(clause));
        }
        let components = scores
            .iter()
            .map(|score| self.component(score, clause))
            .collect::<Result<Vec<_>, _>>()?;
        let weights = match weights {
            Some((weights, _)) => self.weights(weights, scores.len(), clause)?,
            None => vec![1.0; scores.len()],
        };
        Ok(Rank {
            components: components.into_iter().zip(weights).collect(),
            fusion,
        })
    }

    /// One score: `FullTextScore(…)` or `VectorDistance(…)`.
    fn component(&mut self, expr: &ast::Expr, clause: Span) -> Result<RankComponent, SqlError> {
        let called = match &expr.kind {
            ast::ExprKind::Call {
                name,
                user_defined: false,
                args,
            } => Some((name, args)),
            _ => None,
        };
        if let Some((name, args)) = called
            && name.text.eq_ignore_ascii_case("FullTextScore")
        {
            let [text, wanted @ ..] = args.as_slice() else {
                return Err(SqlError::arity(&name.text, 2, None, expr.span));
            };
            if wanted.is_empty() {
                return Err(SqlError::arity(&name.text, 2, None, expr.span));
            }
            let text = self.expr(text)?;
            let terms = self.terms(wanted)?;
            return Ok(RankComponent::FullText { text, terms });
        }
        // What does not exist is refused as such, before what is no score.
        let distance = self.expr(expr)?;
        let is_distance =
            called.is_some_and(|(name, _)| name.text.eq_ignore_ascii_case("VectorDistance"));
        if !is_distance {
            return Err(SqlError::not_ranked(clause));
        }
        let descending = nearest_is_largest(&distance).unwrap_or(true);
        Ok(RankComponent::Vector {
            distance,
            descending,
        })
    }

    /// What `FullTextScore` looks for.
    fn terms(&self, wanted: &[ast::Expr]) -> Result<Vec<Phrase>, SqlError> {
        if let [only] = wanted
            && let Some(Value::Array(items)) = self.literal(only)
            && !items.is_empty()
        {
            // The service takes an array only from accounts with a setting for it; the SDK for JavaScript uses it.
            let terms = items.iter().map(Phrase::from_value).collect::<Option<_>>();
            return terms.ok_or_else(|| SqlError::score_terms(only.span));
        }
        let terms = wanted.iter().map(|term| {
            let phrase = self.literal(term).as_ref().and_then(Phrase::from_value);
            phrase.ok_or_else(|| SqlError::score_terms(term.span))
        });
        terms.collect()
    }

    fn weights(&self, expr: &ast::Expr, count: usize, clause: Span) -> Result<Vec<f64>, SqlError> {
        let weights = match self.literal(expr) {
            Some(Value::Array(items)) => items
                .iter()
                .map(Value::as_f64)
                .collect::<Option<Vec<f64>>>(),
            _ => None,
        };
        match weights {
            Some(weights) if weights.len() == count => Ok(weights),
            Some(_) | None => Err(SqlError::score_weights(clause)),
        }
    }

    /// The value that an expression is in the text, or by a parameter; nothing if it has to be computed.
    fn literal(&self, expr: &ast::Expr) -> Option<Value> {
        match &expr.kind {
            ast::ExprKind::Literal(value) => Some(value.clone()),
            // A parameter that was copied too often counts as none: the query is refused either way.
            ast::ExprKind::Parameter(name) => self.parameter(name).ok(),
            ast::ExprKind::Unary(ast::UnaryOp::Minus, operand) => match &operand.kind {
                ast::ExprKind::Literal(number) => Some(Value::number(-number.as_f64()?)),
                _ => None,
            },
            ast::ExprKind::Array(items) => {
                let items = items.iter().map(|item| self.literal(item));
                Some(Value::Array(items.collect::<Option<Vec<_>>>()?))
            }
            ast::ExprKind::Object(members) => {
                let mut object = lapsedb_value::Object::new();
                for (name, member) in members {
                    object.push(name.text.clone(), self.literal(member)?);
                }
                Some(Value::Object(object))
            }
            _ => None,
        }
    }
}
