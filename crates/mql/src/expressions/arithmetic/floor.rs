//! `$floor`: the greatest whole number that is not greater.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    unary("$floor", args, |number| {
        Ok(match number {
            Num::Int(_) | Num::Long(_) => number,
            Num::Double(n) => Num::Double(n.floor()),
            Num::Decimal(n) => Num::Decimal(to_whole(floor(n))),
        })
    })
}
