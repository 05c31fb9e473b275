//! `$ceil`: the least whole number that is not less.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(1, run);

fn run(args: &Args<'_>) -> Result<Value> {
    unary("$ceil", args, |number| {
        Ok(match number {
            Num::Int(_) | Num::Long(_) => number,
            Num::Double(n) => Num::Double(n.ceil()),
            Num::Decimal(n) => Num::Decimal(to_whole(floor(n.neg()).neg())),
        })
    })
}
