//! `CHOOSE`: the argument at a place, counted from 1 after the first.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let place = usize::try_from(args::integer(args, 0)?).ok()?;
    if place == 0 {
        None
    } else {
        Some(args::any(args, place).clone())
    }
}
