//! `ARRAY_CONTAINS`: whether an array has the value, or an object that has all its members.

use lapsedb_value::Value;
use lapsedb_value::order::deep_equal;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    let wanted = args::defined(args, 1)?;
    let partial = args::flag(args, 2)?;
    let matches = |item: &Value| {
        if partial {
            covers(item, wanted)
        } else {
            deep_equal(item, wanted)
        }
    };
    Some(Value::Bool(items.iter().any(matches)))
}

/// Whether the item has every member that is wanted, on all levels.
fn covers(item: &Value, wanted: &Value) -> bool {
    match (item, wanted) {
        (Value::Object(item), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, wanted)| item.get(name).is_some_and(|item| covers(item, wanted))),
        _ => deep_equal(item, wanted),
    }
}
