//! `ARRAY_CONTAINS_ALL`: whether an array has all of the values.

use lapsedb_value::Value;
use lapsedb_value::order::deep_equal;

use crate::functions::args::{self, Args};
use crate::functions::logic;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    let found = args.iter().skip(1).map(|wanted| {
        (!wanted.is_undefined()).then(|| items.iter().any(|item| deep_equal(item, wanted)))
    });
    logic::all(found).map(Value::Bool)
}
