//! `$tan`. Decimals have the precision of doubles here.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    bounded("$tan", args, FINITE, f64::tan)
}
