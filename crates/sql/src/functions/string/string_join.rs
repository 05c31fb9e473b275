//! `StringJoin`: the strings of an array with another between them.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::limits::STRING_BYTES_MAX;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (items, between) = (args::array(args, 0)?, args::text(args, 1)?);
    let parts = items
        .iter()
        .map(Value::as_str)
        .collect::<Option<Vec<&str>>>()?;
    let bytes = parts
        .iter()
        .map(|part| part.len() + between.len())
        .sum::<usize>();
    if bytes > STRING_BYTES_MAX {
        return None;
    }
    Some(Value::from(parts.join(between)))
}
