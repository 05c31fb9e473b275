//! `SetEqual`: whether two arrays have the same distinct elements.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::sets;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (
        sets::of(args::array(args, 0)?),
        sets::of(args::array(args, 1)?),
    );
    Some(Value::Bool(a == b))
}
