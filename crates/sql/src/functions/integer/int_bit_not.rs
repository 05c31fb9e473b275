//! `IntBitNot`: a 64-bit integer with all bits flipped.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(!args::integer(args, 0)?))
}
