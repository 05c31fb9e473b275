//! `COT`: the cotangent of an angle in radians.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let x = args::number(args, 0)?;
    args::finite(1.0 / x.tan())
}
