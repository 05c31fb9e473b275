//! `$round`: rounds to a place, half to even.

use super::*;

pub(crate) const FORM: Form = Form::Between(1, 2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    to_place("$round", args, Rounding::HalfEven)
}
