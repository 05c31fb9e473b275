//! `$avg` over arguments or the elements of an array: the mean of the numbers.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    accumulate(args, crate::accumulators::avg::Avg::default())
}
