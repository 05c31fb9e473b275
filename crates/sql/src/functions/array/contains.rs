//! Whether arrays have elements.

use lapsedb_value::Value;
use lapsedb_value::order::deep_equal;

use crate::functions::args::{self, Args};
use crate::functions::logic;

/// `ARRAY_CONTAINS`: the value, or with a third argument that is true an object that has all its members.
pub(crate) fn contains(args: &Args<'_>) -> Option<Value> {
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

/// `ARRAY_CONTAINS_ALL`.
pub(crate) fn all(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    logic::all(each(args, items)).map(Value::Bool)
}

/// `ARRAY_CONTAINS_ANY`.
pub(crate) fn any(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    logic::any(each(args, items)).map(Value::Bool)
}

/// Whether each argument after the first is an element; nothing for one that is undefined.
fn each<'a>(args: &'a Args<'_>, items: &'a [Value]) -> impl Iterator<Item = Option<bool>> + 'a {
    args.iter().skip(1).map(|wanted| {
        (!wanted.is_undefined()).then(|| items.iter().any(|item| deep_equal(item, wanted)))
    })
}
