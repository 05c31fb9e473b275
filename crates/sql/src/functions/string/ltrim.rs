//! `LTRIM`: a string without blanks, or the given characters, at its start.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    if args.len() == 1 {
        return Some(Value::from(text.trim_start()));
    }
    let unwanted = args::text(args, 1)?;
    Some(Value::from(
        text.trim_start_matches(|c| unwanted.contains(c)),
    ))
}
