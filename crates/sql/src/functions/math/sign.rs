//! `SIGN`: -1, 0 or 1, as the number is negative, zero or positive.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let x = args::number(args, 0)?;
    args::finite(if x == 0.0 { 0.0 } else { x.signum() })
}
