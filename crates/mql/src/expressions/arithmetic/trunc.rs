//! `$trunc`: cuts off behind a place.

use super::*;

pub(crate) const FORM: Form = Form::Between(1, 2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    to_place("$trunc", args, Rounding::Truncate)
}
