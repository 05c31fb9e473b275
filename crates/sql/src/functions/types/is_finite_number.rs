//! `IS_FINITE_NUMBER`: whether the value is a finite number.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let value = args::any(args, 0);
    Some(Value::Bool(value.as_f64().is_some_and(f64::is_finite)))
}
