//! `ObjectToArray`: the members of an object as an array of name and value.

use lapsedb_value::budget::{MEMBER_BYTES, VALUE_BYTES, text_bytes};
use lapsedb_value::{Object, Value};

use crate::error::SqlError;
use crate::eval::{Ctx, weight};
use crate::functions::args::{self, Args};

pub(crate) fn call(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let (Some(object), Some(name_key), Some(value_key)) = (
        args::object(args, 0),
        args::text_or(args, 1, "k"),
        args::text_or(args, 2, "v"),
    ) else {
        return Ok(None);
    };
    // Each pair has names of its own.
    let keys = text_bytes(name_key.len()) + text_bytes(value_key.len());
    let mut pairs = Vec::with_capacity(object.len());
    for (name, value) in object {
        let own = VALUE_BYTES + 2 * MEMBER_BYTES + keys + text_bytes(name.len());
        ctx.charge(own as u64 + weight(value))?;
        let mut pair = Object::with_capacity(2);
        pair.insert(name_key, name.as_str());
        pair.insert(value_key, value.clone());
        pairs.push(Value::Object(pair));
    }
    Ok(Some(Value::Array(pairs)))
}
