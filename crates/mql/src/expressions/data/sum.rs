//! `$sum` over arguments or the elements of an array: the sum of the numbers.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    accumulate(args, crate::accumulators::sum::Sum::default())
}
