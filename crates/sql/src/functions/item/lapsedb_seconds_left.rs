//! `LAPSEDB_SECONDS_LEFT`: how long an item has to live, a begun second counted as whole; null if it stays.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::{self, Args};

const MILLIS_PER_SECOND: u64 = 1000;

pub(crate) fn call(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let item = args::any(args, 0);
    if item.get("_ts").is_undefined() {
        return Ok(None);
    }
    Ok(Some(match ctx.expiry_ms(item) {
        Some(end) => {
            let left = u64::try_from(end.saturating_sub(ctx.now_ms())).unwrap_or(0);
            Value::number(left.div_ceil(MILLIS_PER_SECOND) as f64)
        }
        None => Value::Null,
    }))
}
