//! `ObjectToArray`: the members of an object as an array of name and value.

use lapsedb_value::{Object, Value};

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let object = args::object(args, 0)?;
    let name_key = args::text_or(args, 1, "k")?;
    let value_key = args::text_or(args, 2, "v")?;
    let pairs = object.iter().map(|(name, value)| {
        let mut pair = Object::with_capacity(2);
        pair.insert(name_key, name.as_str());
        pair.insert(value_key, value.clone());
        Value::Object(pair)
    });
    Some(Value::Array(pairs.collect()))
}
