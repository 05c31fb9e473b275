//! `IntBitLeftShift`: a 64-bit integer with its bits moved left.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::integer(args, 0)?, args::integer(args, 1)?);
    a.checked_shl(u32::try_from(b).ok()?).map(Value::from)
}
