//! `RegexExtractAll`: all parts of a string that match a regular expression.

use lapsedb_value::Value;
use lapsedb_value::budget::{VALUE_BYTES, text_bytes};

use crate::error::SqlError;
use crate::eval::{Ctx, Dialect};
use crate::functions::args::{self, Args};

pub(crate) fn call(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let (Some(text), Some(pattern)) = (args::text(args, 0), args::text(args, 1)) else {
        return Ok(None);
    };
    let Some(flags) = args::text_or(args, 2, "") else {
        return Ok(None);
    };
    let Some(regex) = ctx.search(pattern, Dialect::Regex(flags), text)? else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    for found in regex.find_iter(text) {
        ctx.charge((VALUE_BYTES + text_bytes(found.len())) as u64)?;
        parts.push(Value::from(found.as_str()));
    }
    Ok(Some(Value::Array(parts)))
}
