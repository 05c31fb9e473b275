//! `SetUnion`: the distinct elements of two arrays.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::sets;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::array(args, 0)?, args::array(args, 1)?);
    Some(Value::Array(sets::distinct(a.iter().chain(b))))
}
