//! `LastSubstringAfter`: what follows the last occurrence of another string.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (text, delimiter) = (args::text(args, 0)?, args::text(args, 1)?);
    // What the service says when the delimiter does not occur is not known; undefined is the cautious answer.
    let (_, part) = text.rsplit_once(delimiter)?;
    Some(Value::from(part))
}
