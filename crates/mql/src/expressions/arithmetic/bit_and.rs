//! `$bitAnd`: bit by bit over ints and longs.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    bitwise("$bitAnd", args, -1, |a, b| a & b)
}
