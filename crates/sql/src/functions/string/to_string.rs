//! `ToString`: a value as text; strings stay as they are.

use lapsedb_value::{Value, json};

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(match args::defined(args, 0)? {
        Value::String(text) => Value::String(text.clone()),
        value => Value::from(json::to_string(value)),
    })
}
