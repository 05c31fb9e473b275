//! `ARRAY_SUM`: the sum of the numbers in an array.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    args::finite(
        items
            .iter()
            .try_fold(0.0, |sum, item| Some(sum + item.as_f64()?))?,
    )
}
