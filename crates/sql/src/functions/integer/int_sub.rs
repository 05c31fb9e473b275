//! `IntSub`: the difference of two 64-bit integers.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::integer(args, 0)?, args::integer(args, 1)?);
    a.checked_sub(b).map(Value::from)
}
