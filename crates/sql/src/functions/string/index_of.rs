//! `INDEX_OF`: where a string first occurs in another, or -1.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::units;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (text, wanted) = (args::text(args, 0)?, args::text(args, 1)?);
    let from = if args.len() > 2 {
        args::integer(args, 2)?.max(0)
    } else {
        0
    };
    let start = units::byte_at(text, usize::try_from(from).ok()?);
    let rest = text.get(start..)?;
    Some(match rest.find(wanted) {
        Some(at) => Value::number(units::length(text.get(..start + at)?) as f64),
        None => Value::Int32(-1),
    })
}
