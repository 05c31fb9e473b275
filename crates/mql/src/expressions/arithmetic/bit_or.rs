//! `$bitOr`: bit by bit over ints and longs.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    bitwise("$bitOr", args, 0, |a, b| a | b)
}
