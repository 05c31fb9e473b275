//! `ARRAY_CONCAT`: one array after the other.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let mut all = Vec::new();
    for at in 0..args.len() {
        all.extend_from_slice(args::array(args, at)?);
    }
    Some(Value::Array(all))
}
