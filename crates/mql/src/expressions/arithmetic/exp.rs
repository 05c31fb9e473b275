//! `$exp`: e to the power of a number. Decimals have the precision of doubles here.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    unary("$exp", args, |number| Ok(real(number, f64::exp)))
}
