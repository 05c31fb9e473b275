//! `STRINGEQUALS`: whether two strings are equal; the third argument ignores case.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (text, wanted) = (args::text(args, 0)?, args::text(args, 1)?);
    let found = if args::flag(args, 2)? {
        text.to_lowercase() == wanted.to_lowercase()
    } else {
        text == wanted
    };
    Some(Value::Bool(found))
}
