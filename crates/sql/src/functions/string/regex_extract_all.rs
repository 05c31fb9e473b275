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
    let Some(regex) = ctx.pattern(pattern, Dialect::Regex(flags))? else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    let (mut at, mut end) = (0, None);
    while let Some(found) = regex.find_at(text, at, ctx.budget())? {
        let range = found.range;
        if range.is_empty() && end == Some(range.end) {
            // An empty match right behind another is none; the search goes on behind the next character.
            let Some(next) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                break;
            };
            at += next.len_utf8();
            continue;
        }
        (at, end) = (range.end, Some(range.end));
        let part = text.get(range).unwrap_or_default();
        ctx.charge((VALUE_BYTES + text_bytes(part.len())) as u64)?;
        parts.push(Value::from(part));
    }
    Ok(Some(Value::Array(parts)))
}
