//! Choices. The only function is apart because it belongs to no other family.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// `IIF`: the second argument if the first is true, else the third.
pub(crate) fn iif(args: &Args<'_>) -> Option<Value> {
    let chosen = if args::any(args, 0).as_bool() == Some(true) {
        1
    } else {
        2
    };
    Some(args::any(args, chosen).clone())
}
