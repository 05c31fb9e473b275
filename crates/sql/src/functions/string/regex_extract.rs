//! `RegexExtract`: the first part of a string that matches a regular expression.

use lapsedb_value::Value;

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
    let found = regex.find_at(text, 0, ctx.budget())?;
    let part = found.and_then(|found| text.get(found.range));
    Ok(part.map(Value::from))
}
