//! `CEILING`: the smallest whole number not below the number.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    args::unless_whole(args, 0, f64::ceil)
}
