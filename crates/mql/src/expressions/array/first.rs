//! `$first`: the first element of an array.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    end_of("$first", args, 0)
}
