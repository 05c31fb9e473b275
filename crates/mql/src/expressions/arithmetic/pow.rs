//! `$pow`: a number to the power of another; whole numbers stay whole while they fit.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    if any_nullish(args) {
        return Ok(Value::Null);
    }
    let number = |at: usize, code: i32, what: &str| {
        Num::of(&args[at]).ok_or_else(|| {
            let found = type_name(&args[at]);
            MqlError::new(code, format!("$pow's {what} must be numeric, not {found}"))
        })
    };
    let (base, exponent) = (number(0, 28762, "base")?, number(1, 28763, "exponent")?);
    if base.is_zero() && is_below_zero(exponent) {
        return Err(MqlError::new(
            28764,
            "$pow cannot take a base of 0 and a negative exponent",
        ));
    }
    Ok(match base.pair(exponent) {
        Pair::Int(a, b) => match whole_power(i64::from(a), i64::from(b)) {
            Num::Long(n) => narrow(n),
            other => other,
        },
        Pair::Long(a, b) => whole_power(a, b),
        Pair::Double(a, b) => Num::Double(a.powf(b)),
        Pair::Decimal(a, b) => Num::Decimal(decimal_power(a, b)),
    }
    .value())
}

fn whole_power(base: i64, exponent: i64) -> Num {
    let rounded = Num::Double((base as f64).powf(exponent as f64));
    match (base, exponent) {
        (1, _) => Num::Long(1),
        (-1, _) => Num::Long(if exponent % 2 == 0 { 1 } else { -1 }),
        (0, _) => Num::Long(i64::from(exponent == 0)),
        (_, ..0) => rounded,
        _ => {
            let exponent = u32::try_from(exponent).ok();
            let exact = exponent.and_then(|exponent| base.checked_pow(exponent));
            exact.map_or(rounded, Num::Long)
        }
    }
}

/// Whole exponents up to this are computed by multiplying, to all 34 digits.
const EXACT_EXPONENT_MAX: i64 = 10_000;

fn decimal_power(base: Decimal128, exponent: Decimal128) -> Decimal128 {
    let Some(whole) = exponent
        .to_i64_exact()
        .filter(|whole| whole.abs() <= EXACT_EXPONENT_MAX)
    else {
        return Decimal128::from_f64_wide(base.to_f64().powf(exponent.to_f64()));
    };
    let one = Decimal128::from(1);
    let (mut power, mut square, mut left) = (one, base, whole.unsigned_abs());
    while left > 0 {
        if left % 2 == 1 {
            power = power.mul(square);
        }
        square = square.mul(square);
        left /= 2;
    }
    match whole < 0 {
        true => one.div(power),
        false => power,
    }
}
