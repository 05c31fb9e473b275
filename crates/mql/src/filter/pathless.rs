//! The operators that stand at the top of a filter and name no field: `$expr` and its neighbours.

use std::sync::Arc;

use lapsedb_value::Value;

use super::node::Run;
use crate::expressions::{Expr, Scope};
use crate::filter::operators::modulo::is_number;
use crate::{MqlError, Result};

/// `$expr`: a computation over the whole document whose result must be true.
#[derive(Clone, Debug)]
pub(crate) struct Expression(pub(crate) Arc<Expr>);

impl Expression {
    pub(crate) fn is_true(&self, run: &mut Run<'_>) -> bool {
        match self.0.get(&Scope::new(run.root, run.env)) {
            Ok(value) => crate::values::is_true(&value),
            Err(error) => {
                run.error.get_or_insert(error);
                false
            }
        }
    }
}

/// `$sampleRate`: the share of documents that match, by chance.
pub(crate) fn sample_rate(argument: &Value) -> Result<f64> {
    let rate = match is_number(argument) {
        true => argument.as_f64(),
        false => None,
    };
    match rate {
        None => Err(MqlError::bad_value(
            "argument to $sampleRate must be a numeric type",
        )),
        Some(rate) if !(0.0..=1.0).contains(&rate) => Err(MqlError::bad_value(
            "numeric argument to $sampleRate must be in [0, 1]",
        )),
        Some(rate) => Ok(rate),
    }
}
