//! `$cos`. Decimals have the precision of doubles here.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    bounded("$cos", args, FINITE, f64::cos)
}
