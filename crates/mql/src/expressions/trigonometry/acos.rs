//! `$acos`. Decimals have the precision of doubles here.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    bounded("$acos", args, (-1.0, 1.0), f64::acos)
}
