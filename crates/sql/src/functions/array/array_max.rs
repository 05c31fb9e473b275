//! `ARRAY_MAX`: the largest element of an array.

use lapsedb_value::Value;
use lapsedb_value::order::compare_sql;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    let mut best: Option<&Value> = None;
    for item in items {
        if matches!(item, Value::Array(_) | Value::Object(_)) {
            return None;
        }
        if best.is_none_or(|best| compare_sql(item, best).is_gt()) {
            best = Some(item);
        }
    }
    best.cloned()
}
