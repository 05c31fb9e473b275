//! `UPPER`: a string in upper case.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(args::text(args, 0)?.to_uppercase()))
}
