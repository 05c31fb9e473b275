//! `LOG`: the natural logarithm of a number, or that to a base.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let x = args::number(args, 0)?;
    if args.len() == 1 {
        return args::finite(x.ln());
    }
    let base = args::number(args, 1)?;
    // The two bases that people use have exact functions of their own.
    args::finite(if base == 10.0 {
        x.log10()
    } else if base == 2.0 {
        x.log2()
    } else {
        x.log(base)
    })
}
