//! `$abs`: the magnitude.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    unary("$abs", args, |number| {
        Ok(match number {
            Num::Int(n) => narrow(i64::from(n).abs()),
            Num::Long(n) => Num::Long(
                n.checked_abs()
                    .ok_or_else(|| MqlError::new(28680, "can't take $abs of long long min"))?,
            ),
            Num::Double(n) => Num::Double(n.abs()),
            Num::Decimal(n) => Num::Decimal(n.abs()),
        })
    })
}
