//! `STARTSWITH`: whether a string starts with another; the third argument ignores case.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (text, wanted) = (args::text(args, 0)?, args::text(args, 1)?);
    let found = if args::flag(args, 2)? {
        text.to_lowercase().starts_with(&wanted.to_lowercase())
    } else {
        text.starts_with(wanted)
    };
    Some(Value::Bool(found))
}
