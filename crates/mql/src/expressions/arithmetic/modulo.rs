//! `$mod`: what division leaves; its sign is the dividend's.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    let (Some(a), Some(b)) = (Num::of(&args[0]), Num::of(&args[1])) else {
        if any_nullish(args) {
            return Ok(Value::Null);
        }
        return Err(MqlError::new(
            16611,
            format!(
                "$mod only supports numeric types, not {} and {}",
                type_name(&args[0]),
                type_name(&args[1])
            ),
        ));
    };
    if b.is_zero() {
        let code = match a.pair(b) {
            Pair::Decimal(..) => 5733415,
            Pair::Int(..) | Pair::Long(..) | Pair::Double(..) => 16610,
        };
        return Err(MqlError::new(code, "can't $mod by zero"));
    }
    Ok(match a.pair(whole(a, b)) {
        Pair::Int(a, b) => Value::Int32(a.wrapping_rem(b)),
        Pair::Long(a, b) => Value::Int64(a.wrapping_rem(b)),
        Pair::Double(a, b) => Value::Double(a % b),
        Pair::Decimal(a, b) => decimal(a.rem(b)),
    })
}

/// The divisor; a double without a fraction counts as an int, so that a whole number has a whole remainder.
fn whole(dividend: Num, divisor: Num) -> Num {
    match (dividend, divisor) {
        (Num::Int(_) | Num::Long(_), Num::Double(_)) => {
            divisor.to_i32_exact().map_or(divisor, Num::Int)
        }
        _ => divisor,
    }
}
