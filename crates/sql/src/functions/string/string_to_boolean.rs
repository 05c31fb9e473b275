//! `StringToBoolean`: the boolean that a string says in JSON.

use lapsedb_value::{Value, json};

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let value = json::parse(args::text(args, 0)?.as_bytes(), &json::Limits::DEFAULT).ok()?;
    matches!(value, Value::Bool(_)).then_some(value)
}
