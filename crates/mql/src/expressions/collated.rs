//! Operators that compare, where a collation is in force: they compare the keys of texts instead of the texts.

use std::sync::Arc;

use lapsedb_value::Value;

use super::Expr;
use super::form::Operator;
use super::scope::{Names, Scope};
use crate::Result;
use crate::collation::Collation;

/// The operators whose answer shows nothing of what they compare, so that they can be given keys.
const COMPARING: [&str; 11] = [
    "$cmp",
    "$eq",
    "$gt",
    "$gte",
    "$in",
    "$indexOfArray",
    "$lt",
    "$lte",
    "$ne",
    "$setEquals",
    "$setIsSubset",
];

/// An argument, with every text in it replaced by its key.
#[derive(Debug)]
struct Folded {
    argument: Expr,
    collation: Arc<Collation>,
}

impl Operator for Folded {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        Ok(self.collation.fold(&*self.argument.get(scope)?))
    }
}

/// The expression; if it compares and a collation is in force, over the keys of its arguments.
pub(super) fn compared(operator: &str, expr: Expr, names: &Names) -> Expr {
    let Some(collation) = names.collation() else {
        return expr;
    };
    match expr {
        Expr::Call { run, args } if COMPARING.contains(&operator) => {
            let args = args.into_iter().map(|argument| match argument {
                Expr::Literal(value) => Expr::Literal(collation.fold(&value)),
                argument => Expr::lazy(Folded {
                    argument,
                    collation: Arc::clone(collation),
                }),
            });
            Expr::Call {
                run,
                args: args.collect(),
            }
        }
        other => other,
    }
}
