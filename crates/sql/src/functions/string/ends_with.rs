//! `ENDSWITH`: whether a string ends with another; the third argument ignores case.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (text, wanted) = (args::text(args, 0)?, args::text(args, 1)?);
    let found = if args::flag(args, 2)? {
        text.to_lowercase().ends_with(&wanted.to_lowercase())
    } else {
        text.ends_with(wanted)
    };
    Some(Value::Bool(found))
}
