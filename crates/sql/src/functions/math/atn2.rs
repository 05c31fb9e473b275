//! `ATN2`: the angle of the tangent of y and x, in radians.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (y, x) = (args::number(args, 0)?, args::number(args, 1)?);
    args::finite(y.atan2(x))
}
