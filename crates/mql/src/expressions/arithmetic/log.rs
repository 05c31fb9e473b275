//! `$log`: the logarithm to a base. Decimals have the precision of doubles here.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    if any_nullish(args) {
        return Ok(Value::Null);
    }
    let number = |at: usize, code: i32, what: &str| {
        Num::of(&args[at]).ok_or_else(|| {
            let found = type_name(&args[at]);
            MqlError::new(code, format!("$log's {what} must be numeric, not {found}"))
        })
    };
    let (argument, base) = (number(0, 28756, "argument")?, number(1, 28757, "base")?);
    if is_below_zero(argument) || argument.is_zero() {
        let message = format!(
            "$log's argument must be a positive number, but is {}",
            args[0]
        );
        return Err(MqlError::new(28758, message));
    }
    if is_below_zero(base) || base.is_zero() || base.to_f64() == 1.0 {
        return Err(MqlError::new(
            28759,
            format!(
                "$log's base must be a positive number not equal to 1, but is {}",
                args[1]
            ),
        ));
    }
    let log = argument.to_f64().ln() / base.to_f64().ln();
    Ok(match argument.pair(base) {
        Pair::Decimal(..) => decimal(Decimal128::from_f64_wide(log)),
        Pair::Int(..) | Pair::Long(..) | Pair::Double(..) => Value::Double(log),
    })
}
