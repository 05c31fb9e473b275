//! `GetCurrentTicksStatic`: the time of the query in units of 100 ns since 1970.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::Args;
use crate::functions::civil::DateTime;

pub(crate) fn call(ctx: &Ctx<'_>, _: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(DateTime::from_millis(ctx.now_ms()).map(|now| Value::from(now.ticks())))
}
