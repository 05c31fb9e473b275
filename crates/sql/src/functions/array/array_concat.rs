//! `ARRAY_CONCAT`: one array after the other.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::{Ctx, weight};
use crate::functions::args::{self, Args};

pub(crate) fn call(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let mut all = Vec::new();
    for at in 0..args.len() {
        let Some(elements) = args::array(args, at) else {
            return Ok(None);
        };
        ctx.charge(weight(args::any(args, at)))?;
        all.extend_from_slice(elements);
    }
    Ok(Some(Value::Array(all)))
}
