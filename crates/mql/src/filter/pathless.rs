//! The operators that stand at the top of a filter and name no field: `$expr` and its neighbours.

use std::sync::Arc;

use lapsedb_value::{Object, Str, Value};

use super::node::Run;
use crate::expressions::{Expr, Names, Scope};
use crate::filter::operators::modulo::is_number;
use crate::{MqlError, Result};

/// `$expr`: a computation over the whole document whose result must be true.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    expr: Arc<Expr>,
    /// Fields that must equal what reads no document, for a planner.
    pub(crate) equal: Vec<(Str, Arc<Expr>)>,
}

/// Fields that an expression demands to equal a literal or a variable.
pub(crate) fn equalities_of(spec: &Value, names: &Names) -> Vec<(Str, Arc<Expr>)> {
    let mut found = Vec::new();
    let mut open = vec![spec];
    while let Some(spec) = open.pop() {
        let Some([(operator, argument)]) = spec.as_object().map(Object::as_slice) else {
            continue;
        };
        match (operator.as_str(), argument.as_array()) {
            ("$and", Some(parts)) => open.extend(parts),
            ("$eq", Some([a, b])) => {
                for (path, other) in [(a, b), (b, a)] {
                    if let (Some(path), true) = (field(path), reads_nothing(other))
                        && let Ok(expr) = Expr::parse(other, names)
                    {
                        found.push((path.into(), Arc::new(expr)));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// The path of an expression that is a field.
fn field(spec: &Value) -> Option<&str> {
    let path = spec.as_str()?.strip_prefix('$')?;
    (!path.starts_with('$')).then_some(path)
}

/// Whether an expression is a plain value, or a variable of the surroundings.
fn reads_nothing(spec: &Value) -> bool {
    match spec {
        Value::String(text) => match text.strip_prefix("$$") {
            Some(name) => !["ROOT", "CURRENT", "REMOVE"]
                .iter()
                .any(|own| name.split('.').next() == Some(own)),
            None => !text.starts_with('$'),
        },
        Value::Object(object) => {
            object.len() == 1 && object.keys().next().is_some_and(|key| key == "$literal")
        }
        Value::Array(_) => false,
        _ => true,
    }
}

impl Expression {
    pub(crate) fn new(expr: Expr, equal: Vec<(Str, Arc<Expr>)>) -> Expression {
        Expression {
            expr: Arc::new(expr),
            equal,
        }
    }

    pub(crate) fn is_true(&self, run: &mut Run<'_>) -> bool {
        match self.expr.get(&Scope::new(run.root, run.env)) {
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
