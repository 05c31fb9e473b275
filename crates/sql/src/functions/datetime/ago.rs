//! `Ago`: the time of the query less some parts, as text.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::{self, Args};
use crate::functions::civil::{DateTime, Part};

pub(crate) fn call(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(run(ctx, args))
}

fn run(ctx: &Ctx<'_>, args: &Args<'_>) -> Option<Value> {
    let part = Part::from_name(args::text(args, 0)?)?;
    let count = args::integer(args, 1)?.checked_neg()?;
    Some(
        DateTime::from_millis(ctx.now_ms())?
            .plus(part, count)?
            .to_value(),
    )
}
