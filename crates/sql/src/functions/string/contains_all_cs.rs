//! `ContainsAllCs`: whether a string contains all of the others.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::logic;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    let found = args
        .iter()
        .skip(1)
        .map(|wanted| wanted.as_str().map(|wanted| text.contains(wanted)));
    logic::all(found).map(Value::Bool)
}
