//! `SetDifference`: the distinct elements of the first array that the second lacks.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::sets;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (args::array(args, 0)?, args::array(args, 1)?);
    let without = sets::of(b);
    Some(Value::Array(sets::distinct(
        a.iter().filter(|item| !sets::has(&without, item)),
    )))
}
