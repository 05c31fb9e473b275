//! `ContainsAnyCi`: whether a string contains any of the others, whatever their case.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::logic;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?.to_lowercase();
    let found = args.iter().skip(1).map(|wanted| {
        wanted
            .as_str()
            .map(|wanted| text.contains(&wanted.to_lowercase()))
    });
    logic::any(found).map(Value::Bool)
}
