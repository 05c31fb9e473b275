//! `POWER`: a number raised to a power.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (x, y) = (args::number(args, 0)?, args::number(args, 1)?);
    args::finite(x.powf(y))
}
