//! `CONCAT`: one string after the other.

use lapsedb_value::{Str, Value};

use crate::functions::args::{self, Args};
use crate::limits::STRING_BYTES_MAX;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let mut all = Str::default();
    for at in 0..args.len() {
        let part = args::text(args, at)?;
        if all.len() + part.len() > STRING_BYTES_MAX {
            return None;
        }
        all.push_str(part);
    }
    Some(Value::String(all))
}
