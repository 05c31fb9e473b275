//! Powers, roots, exponentials and logarithms.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// `EXP`: the exponential of a number.
pub(crate) fn exp(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, f64::exp)
}

/// `LOG`: the natural logarithm of a number, or that to a base.
pub(crate) fn log(args: &Args<'_>) -> Option<Value> {
    let x = args::number(args, 0)?;
    if args.len() == 1 {
        return Some(Value::Double(x.ln()));
    }
    // Decimal logarithms, not natural ones: that way LOG(1000, 10) is exactly 3.
    let base = args::number(args, 1)?;
    Some(Value::Double(x.log10() / base.log10()))
}

/// `LOG10`: the logarithm of a number to base 10.
pub(crate) fn log10(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, f64::log10)
}

/// `POWER`: a number raised to a power.
pub(crate) fn power(args: &Args<'_>) -> Option<Value> {
    let (x, y) = (args::number(args, 0)?, args::number(args, 1)?);
    Some(Value::Double(x.powf(y)))
}

/// `SQRT`: the square root of a number.
pub(crate) fn sqrt(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, f64::sqrt)
}

/// `SQUARE`: the square of a number.
pub(crate) fn square(args: &Args<'_>) -> Option<Value> {
    args::map_number(args, |x| x * x)
}
