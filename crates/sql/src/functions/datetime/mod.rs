//! Date and time. Values are texts; a text is read into a [`moment::DateTime`], reckoned with and written again.

pub(super) mod arithmetic;
pub(super) mod current;
mod moment;
mod notation;
pub(super) mod parts;
pub(super) mod text;

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use moment::DateTime;

/// The argument as a moment, if it is a text that says one.
fn moment_at(args: &Args<'_>, at: usize) -> Option<DateTime> {
    notation::read(args::text(args, at)?)
}

/// A moment as the functions give it.
fn value(moment: DateTime) -> Value {
    Value::from(notation::write(moment))
}
