//! Functions of the time of the query.

use lapsedb_value::Value;

use super::moment::DateTime;
use super::{arithmetic, value};
use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::Args;

/// `GetCurrentDateTime`, `GetCurrentDateTimeStatic`: the time of the query as text.
pub(crate) fn date_time(ctx: &Ctx<'_>, _: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(DateTime::from_millis(ctx.now_ms()).map(value))
}

/// `GetCurrentTicks`, `GetCurrentTicksStatic`: the time of the query in units of 100 ns since 1970.
pub(crate) fn ticks(ctx: &Ctx<'_>, _: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(DateTime::from_millis(ctx.now_ms()).map(|now| Value::from(now.ticks())))
}

/// `GetCurrentTimestamp`, `GetCurrentTimestampStatic`: the time of the query in milliseconds since 1970.
pub(crate) fn timestamp(ctx: &Ctx<'_>, _: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(Some(Value::from(ctx.now_ms())))
}

/// `Now`: the time of the query as text, perhaps with some parts or a time span added.
pub(crate) fn now(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    if args.is_empty() {
        return date_time(ctx, args);
    }
    Ok(shifted(ctx, args, 1))
}

/// `Ago`: the time of the query less some parts or a time span, as text.
pub(crate) fn ago(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(shifted(ctx, args, -1))
}

fn shifted(ctx: &Ctx<'_>, args: &Args<'_>, sign: i64) -> Option<Value> {
    let (part, count) = arithmetic::amount(args, args.len() < 2)?;
    let now = DateTime::from_millis(ctx.now_ms())?;
    Some(value(now.plus(part, count.checked_mul(sign)?)?))
}
