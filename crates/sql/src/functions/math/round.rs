//! `ROUND`: a number rounded to a whole one, or to some digits, half away from zero.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// Beyond this many digits a double has nothing left to round.
const DIGITS_MAX: i64 = 15;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let x = args::number(args, 0)?;
    let digits = if args.len() > 1 {
        args::integer(args, 1)?
    } else {
        0
    };
    if let (Some(whole), 0..) = (args::integer(args, 0), digits) {
        return Some(Value::from(whole));
    }
    if digits > DIGITS_MAX {
        return args::finite(x);
    }
    let scale = 10f64.powi(i32::try_from(digits.max(-400)).ok()?);
    if scale == 0.0 {
        return args::finite(0.0);
    }
    let scaled = x * scale;
    args::finite(if scaled.is_finite() {
        scaled.round() / scale
    } else {
        x
    })
}
