//! `NumberBin`: a number rounded down to a multiple of the bin size.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let x = args::number(args, 0)?;
    let size = if args.len() > 1 {
        args::number(args, 1)?
    } else {
        1.0
    };
    args::finite((x / size).floor() * size)
}
