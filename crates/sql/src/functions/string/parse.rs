//! Values that a text says in JSON, with nothing but blanks around them.

use lapsedb_value::{Value, json};

use crate::functions::args::{self, Args};

/// `StringToArray`.
pub(crate) fn array(args: &Args<'_>) -> Option<Value> {
    parse(args).filter(|value| matches!(value, Value::Array(_)))
}

/// `StringToBoolean`.
pub(crate) fn boolean(args: &Args<'_>) -> Option<Value> {
    parse(args).filter(|value| matches!(value, Value::Bool(_)))
}

/// `StringToNull`.
pub(crate) fn null(args: &Args<'_>) -> Option<Value> {
    parse(args).filter(Value::is_null)
}

/// `StringToObject`.
pub(crate) fn object(args: &Args<'_>) -> Option<Value> {
    parse(args).filter(|value| matches!(value, Value::Object(_)))
}

fn parse(args: &Args<'_>) -> Option<Value> {
    json::parse(args::text(args, 0)?.as_bytes(), &json::Limits::DEFAULT).ok()
}
