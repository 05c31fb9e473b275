//! `RegexExtractAll`: all parts of a string that match a regular expression.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::{Ctx, Dialect};
use crate::functions::args::{self, Args};

pub(crate) fn call(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(run(ctx, args))
}

fn run(ctx: &Ctx<'_>, args: &Args<'_>) -> Option<Value> {
    let (text, pattern) = (args::text(args, 0)?, args::text(args, 1)?);
    let regex = ctx.regex(pattern, Dialect::Regex(args::text_or(args, 2, "")?))?;
    Some(Value::Array(
        regex
            .find_iter(text)
            .map(|found| Value::from(found.as_str()))
            .collect(),
    ))
}
