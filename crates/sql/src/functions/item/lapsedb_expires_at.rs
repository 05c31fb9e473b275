//! `LAPSEDB_EXPIRES_AT`: the second from which an item is gone, null if it stays.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::{self, Args};

const MILLIS_PER_SECOND: i64 = 1000;

pub(crate) fn call(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let item = args::any(args, 0);
    if item.get("_ts").is_undefined() {
        return Ok(None);
    }
    Ok(Some(match ctx.expiry_ms(item) {
        Some(end) => Value::number(end as f64 / MILLIS_PER_SECOND as f64),
        None => Value::Null,
    }))
}
