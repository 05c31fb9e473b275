//! Elements of arrays and of lists of arguments, and members as elements.

use lapsedb_value::budget::{MEMBER_BYTES, VALUE_BYTES, text_bytes};
use lapsedb_value::{Object, Value};

use crate::error::SqlError;
use crate::eval::{Ctx, weight};
use crate::functions::args::{self, Args};

/// `ARRAY_CONCAT`.
pub(crate) fn concat(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let mut all = Vec::new();
    for at in 0..args.len() {
        let Some(elements) = args::array(args, at) else {
            return Ok(None);
        };
        ctx.charge(weight(args::any(args, at)))?;
        all.extend_from_slice(elements);
    }
    Ok(Some(Value::Array(all)))
}

/// `ARRAY_LENGTH`.
pub(crate) fn length(args: &Args<'_>) -> Option<Value> {
    let length = args::array(args, 0)?.len();
    Some(Value::from(i64::try_from(length).ok()?))
}

/// `ARRAY_SLICE`: a negative start counts from the end, a negative length is none.
pub(crate) fn slice(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    let start = args::integer(args, 1)?;
    let wanted = match args.len() {
        0..=2 => i64::MAX,
        _ => args::integer(args, 2)?,
    };
    let length = i64::try_from(items.len()).ok()?;
    let start = if start < 0 {
        start.saturating_add(length).max(0)
    } else {
        start.min(length)
    };
    let end = start.saturating_add(wanted.max(0)).min(length);
    let slice = items.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
    Some(Value::Array(slice.to_vec()))
}

/// `CHOOSE`: places are counted from 1.
pub(crate) fn choose(args: &Args<'_>) -> Option<Value> {
    match usize::try_from(args::integer(args, 0)?).ok()? {
        0 => None,
        place => Some(args::any(args, place).clone()),
    }
}

/// `ObjectToArray`: objects of name and value, called `k` and `v` unless the arguments say otherwise.
pub(crate) fn of_object(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
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
