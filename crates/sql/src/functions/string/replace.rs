//! `REPLACE`: a string with every occurrence of another replaced by a third.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::limits::STRING_BYTES_MAX;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (text, wanted, with) = (
        args::text(args, 0)?,
        args::text(args, 1)?,
        args::text(args, 2)?,
    );
    if wanted.is_empty() {
        return Some(Value::from(text));
    }
    let added = text.matches(wanted).count().saturating_mul(with.len());
    if text.len().saturating_add(added) > STRING_BYTES_MAX {
        return None;
    }
    Some(Value::from(text.replace(wanted, with)))
}
