//! `ARRAY_SUM`: the sum of the numbers in an array.

use lapsedb_value::Value;
use lapsedb_value::number::Sum;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    items.iter().try_fold(Sum::ZERO, Sum::plus)?.total()
}
