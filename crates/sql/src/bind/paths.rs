//! Which expressions are plain paths into the document.

use std::collections::HashMap;

use lapsedb_value::Value;

use super::Binder;
use crate::ast::Query;
use crate::error::SqlError;
use crate::plan::{Expr, ExprKind, Slot, Step};
use crate::span::Span;

/// The document paths that aliases stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(pub(super) HashMap<Slot, Vec<Step>>);

impl Origins {
    /// The path of an expression from the root of the document, if it is nothing but a path.
    pub(crate) fn path(&self, expr: &Expr) -> Option<Vec<Step>> {
        path(&self.0, expr)
    }
}

impl Binder<'_> {
    /// The path of an expression from the root of the document, if it is nothing but a path.
    pub(super) fn path(&self, expr: &Expr) -> Option<Vec<Step>> {
        path(&self.origins, expr)
    }

    /// What is wrong with an order that is no path of the document: a path of an element of an array has a text of its own.
    pub(super) fn unordered(&self, query: &Query, expr: &Expr) -> SqlError {
        let iterated = |name: &str| {
            let mut sources = query.from.iter().filter(|source| source.iterates);
            sources.any(|source| {
                source
                    .alias
                    .as_ref()
                    .is_some_and(|alias| alias.text == name)
            })
        };
        match root(expr) {
            Some(slot) if self.name_of(slot).is_some_and(iterated) => SqlError::order_over_join(),
            Some(_) | None => SqlError::unsupported_order(Span::default()),
        }
    }
}

/// The variable that a path begins with.
fn root(expr: &Expr) -> Option<Slot> {
    match &expr.kind {
        ExprKind::Slot(slot) => Some(*slot),
        ExprKind::Member(base, _) | ExprKind::Index(base, _) => root(base),
        _ => None,
    }
}

fn path(origins: &HashMap<Slot, Vec<Step>>, expr: &Expr) -> Option<Vec<Step>> {
    match &expr.kind {
        ExprKind::Slot(slot) => origins.get(slot).cloned(),
        ExprKind::Member(base, name) => {
            let mut steps = path(origins, base)?;
            steps.push(Step::Member(name.clone()));
            Some(steps)
        }
        ExprKind::Index(base, index) => {
            let step = match index.constant()? {
                Value::String(name) => Step::Member(name.clone()),
                number => Step::Index(u64::try_from(number.as_i64()?).ok()?),
            };
            let mut steps = path(origins, base)?;
            steps.push(step);
            Some(steps)
        }
        _ => None,
    }
}
