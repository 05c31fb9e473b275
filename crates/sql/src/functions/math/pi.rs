//! `PI`: the number pi.

use lapsedb_value::Value;

use crate::functions::args::Args;

pub(crate) fn call(_: &Args<'_>) -> Option<Value> {
    Some(Value::number(std::f64::consts::PI))
}
