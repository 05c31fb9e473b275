//! Texts made of others.

use lapsedb_value::budget::{VALUE_BYTES, text_bytes};
use lapsedb_value::{Str, Value};

use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::{self, Args};
use crate::limits::STRING_BYTES_MAX;

/// `CONCAT`.
pub(crate) fn concat(args: &Args<'_>) -> Option<Value> {
    let mut all = Str::default();
    for at in 0..args.len() {
        let part = args::text(args, at)?;
        if all.len() + part.len() > STRING_BYTES_MAX {
            return None;
        }
        all.push_str(part);
    }
    Some(Value::String(all))
}

/// `REPLICATE`.
pub(crate) fn replicate(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    let times = usize::try_from(args::integer(args, 1)?).ok()?;
    if text.len().saturating_mul(times) > STRING_BYTES_MAX {
        return None;
    }
    Some(Value::from(text.repeat(times)))
}

/// `REVERSE`.
pub(crate) fn reverse(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    Some(Value::from(text.chars().rev().collect::<String>()))
}

/// `REPLACE`; there is no answer to what replaces nothing.
pub(crate) fn replace(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    let wanted = args::text(args, 1).filter(|wanted| !wanted.is_empty())?;
    let with = args::text(args, 2)?;
    let added = text.matches(wanted).count().saturating_mul(with.len());
    if text.len().saturating_add(added) > STRING_BYTES_MAX {
        return None;
    }
    Some(Value::from(text.replace(wanted, with)))
}

/// `StringJoin`: every element has to be a text.
pub(crate) fn join(args: &Args<'_>) -> Option<Value> {
    let (items, between) = (args::array(args, 0)?, args::text(args, 1)?);
    let parts = items
        .iter()
        .map(Value::as_str)
        .collect::<Option<Vec<&str>>>()?;
    let bytes = parts
        .iter()
        .map(|part| part.len() + between.len())
        .sum::<usize>();
    if bytes > STRING_BYTES_MAX {
        return None;
    }
    Some(Value::from(parts.join(between)))
}

/// `StringSplit`; between nothing, the text stays whole.
pub(crate) fn split(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let (Some(text), Some(between)) = (args::text(args, 0), args::text(args, 1)) else {
        return Ok(None);
    };
    if between.is_empty() {
        return Ok(Some(Value::Array(vec![Value::from(text)])));
    }
    let mut parts = Vec::new();
    for part in text.split(between) {
        ctx.charge((VALUE_BYTES + text_bytes(part.len())) as u64)?;
        parts.push(Value::from(part));
    }
    Ok(Some(Value::Array(parts)))
}
