//! Chance; apart from the other functions, which depend on their arguments alone.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::Args;

/// `RAND`: a random number from 0 up to, not including, 1.
pub(crate) fn rand(ctx: &Ctx<'_>, _: &Args<'_>) -> Result<Option<Value>, SqlError> {
    Ok(Some(Value::Double(ctx.random())))
}
