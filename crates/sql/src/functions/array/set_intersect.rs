//! `SetIntersect`: the distinct elements that two arrays share.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::sets;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::array(args, 0)?, args::array(args, 1)?);
    let within = sets::of(a);
    Some(Value::Array(sets::distinct(
        b.iter().filter(|item| sets::has(&within, item)),
    )))
}
