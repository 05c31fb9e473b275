//! `RAND`: a random number from 0 up to, not including, 1.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::Args;

pub(crate) fn call(ctx: &Ctx<'_>, _: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(Some(Value::number(ctx.random())))
}
