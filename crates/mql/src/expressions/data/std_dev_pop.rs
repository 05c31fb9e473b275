//! `$stdDevPop` over arguments or the elements of an array: the standard deviation of a population.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    accumulate(args, crate::accumulators::std_dev_pop::new())
}
