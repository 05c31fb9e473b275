//! `StringSplit`: the parts of a string between occurrences of another.

use lapsedb_value::Value;
use lapsedb_value::budget::{VALUE_BYTES, text_bytes};

use crate::error::SqlError;
use crate::eval::Ctx;
use crate::functions::args::{self, Args};

pub(crate) fn call(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let (Some(text), Some(between)) = (args::text(args, 0), args::text(args, 1)) else {
        return Ok(None);
    };
    if between.is_empty() {
        return Ok(Some(Value::Array(vec![Value::from(text)])));
    }
    let mut parts = Vec::new();
    for part in text.split(between) {
        ctx.charge((VALUE_BYTES + text_bytes(part.len())) as u64)?;
        parts.push(Value::from(part));
    }
    Ok(Some(Value::Array(parts)))
}
