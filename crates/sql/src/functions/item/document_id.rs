//! `DocumentId`: the number of an item within its container.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::rid;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let id = args::any(args, 0).get("_rid").as_str()?;
    Some(Value::number(rid::document_number(id)? as f64))
}
