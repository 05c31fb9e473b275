//! `ARRAY_AVG`: the average of the numbers in an array.

use lapsedb_value::Value;
use lapsedb_value::number::Sum;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    let sum = items.iter().try_fold(Sum::ZERO, Sum::plus)?;
    sum.divided_by(items.len() as u64)
}
