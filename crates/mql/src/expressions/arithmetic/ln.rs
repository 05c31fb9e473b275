//! `$ln`: a logarithm. Decimals have the precision of doubles here.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    unary("$ln", args, |number| {
        if is_below_zero(number) || number.is_zero() {
            let message = format!(
                "$ln's argument must be a positive number, but is {}",
                number.value()
            );
            return Err(MqlError::new(28766, message));
        }
        Ok(real(number, f64::ln))
    })
}
