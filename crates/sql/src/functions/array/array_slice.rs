//! `ARRAY_SLICE`: a part of an array; a negative start counts from the end.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    let start = args::integer(args, 1)?;
    let wanted = if args.len() > 2 {
        args::integer(args, 2)?
    } else {
        i64::MAX
    };
    let length = i64::try_from(items.len()).ok()?;
    let start = if start < 0 {
        start.saturating_add(length).max(0)
    } else {
        start.min(length)
    };
    let end = start.saturating_add(wanted.max(0)).min(length);
    let slice = items.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
    Some(Value::Array(slice.to_vec()))
}
