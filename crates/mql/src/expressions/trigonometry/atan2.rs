//! `$atan2`: the angle of a point. Decimals have the precision of doubles here.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    if any_nullish(args) {
        return Ok(Value::Null);
    }
    let number = |at: usize, code: i32| {
        Num::of(&args[at]).ok_or_else(|| {
            let found = type_name(&args[at]);
            let message = format!("$atan2 only supports numeric types, not {found}");
            MqlError::new(code, message)
        })
    };
    let (y, x) = (number(0, 51044)?, number(1, 51045)?);
    let angle = y.to_f64().atan2(x.to_f64());
    Ok(match y.pair(x) {
        Pair::Decimal(..) => decimal(Decimal128::from_f64_wide(angle)),
        Pair::Int(..) | Pair::Long(..) | Pair::Double(..) => Value::Double(angle),
    })
}
