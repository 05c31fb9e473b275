//! `$sqrt`: the square root.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    unary("$sqrt", args, |number| {
        if is_below_zero(number) {
            return Err(MqlError::new(
                28714,
                "$sqrt's argument must be greater than or equal to 0",
            ));
        }
        Ok(match number {
            Num::Int(_) | Num::Long(_) | Num::Double(_) => Num::Double(number.to_f64().sqrt()),
            Num::Decimal(n) => Num::Decimal(sqrt_decimal(n)),
        })
    })
}

/// Steps of Newton's method: each doubles the sixteen digits that a double starts with.
const NEWTON_STEPS: usize = 3;

fn sqrt_decimal(n: Decimal128) -> Decimal128 {
    if n.is_zero() || !n.is_finite() {
        return n;
    }
    let mut root = Decimal128::from_f64_wide(n.to_f64().sqrt());
    let half = Decimal128::from_f64(0.5);
    for _ in 0..NEWTON_STEPS {
        root = root.add(n.div(root)).mul(half);
    }
    let exact = root.reduced();
    match exact.mul(exact).compare(n) {
        std::cmp::Ordering::Equal => exact,
        std::cmp::Ordering::Less | std::cmp::Ordering::Greater => root,
    }
}
