//! `$min` over arguments or the elements of an array: the least value.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    accumulate(args, crate::accumulators::min::Min::default())
}
