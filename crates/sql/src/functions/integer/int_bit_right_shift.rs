//! `IntBitRightShift`: a 64-bit integer with its bits moved right.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::integer(args, 0)?, args::integer(args, 1)?);
    a.checked_shr(u32::try_from(b).ok()?).map(Value::from)
}
