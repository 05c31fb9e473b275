//! `$acosh`. Decimals have the precision of doubles here.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    bounded("$acosh", args, (1.0, f64::INFINITY), f64::acosh)
}
