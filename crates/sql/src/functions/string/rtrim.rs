//! `RTRIM`: a string without blanks, or the given characters, at its end.

use std::collections::HashSet;

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let text = args::text(args, 0)?;
    if args.len() == 1 {
        return Some(Value::from(text.trim_end()));
    }
    // A set, so that many unwanted characters cost no more than few.
    let unwanted: HashSet<char> = args::text(args, 1)?.chars().collect();
    Some(Value::from(
        text.trim_end_matches(|c| unwanted.contains(&c)),
    ))
}
