//! `GetCurrentTimestampStatic`: the time of the query in milliseconds since 1970.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::Args;

pub(crate) fn call(ctx: &Ctx<'_>, _: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(Some(Value::number(ctx.now_ms() as f64)))
}
