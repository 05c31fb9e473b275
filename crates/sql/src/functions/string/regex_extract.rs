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
    let Some(regex) = ctx.search(pattern, Dialect::Regex(flags), text)? else {
        return Ok(None);
    };
    Ok(regex.find(text).map(|found| Value::from(found.as_str())))
}
