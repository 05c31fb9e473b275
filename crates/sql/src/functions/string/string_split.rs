//! `StringSplit`: the parts of a string between occurrences of another.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (text, between) = (args::text(args, 0)?, args::text(args, 1)?);
    if between.is_empty() {
        return Some(Value::Array(vec![Value::from(text)]));
    }
    Some(Value::Array(text.split(between).map(Value::from).collect()))
}
