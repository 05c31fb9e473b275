//! `$asinh`. Decimals have the precision of doubles here.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    bounded(
        "$asinh",
        args,
        (f64::NEG_INFINITY, f64::INFINITY),
        f64::asinh,
    )
}
