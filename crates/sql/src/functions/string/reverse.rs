//! `REVERSE`: a string backwards.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(Value::from(
        args::text(args, 0)?.chars().rev().collect::<String>(),
    ))
}
