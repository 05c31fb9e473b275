//! `LastIndexOf`: where a string last occurs in another, or -1.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::units;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (text, wanted) = (args::text(args, 0)?, args::text(args, 1)?);
    let found = if args.len() > 2 {
        // The third argument is the last place where an occurrence may begin.
        let from = usize::try_from(args::integer(args, 2)?).ok()?;
        let last = units::byte_at(text, from);
        let end = text.len().min(last.saturating_add(wanted.len()));
        units::floor(text, end).rfind(wanted)
    } else {
        text.rfind(wanted)
    };
    Some(match found {
        Some(at) => Value::number(units::length(text.get(..at)?) as f64),
        None => Value::Int32(-1),
    })
}
