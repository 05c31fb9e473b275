//! `$maxN`: the greatest elements that are not null, in order.

use super::*;

pub(crate) const FORM: Form = Form::NamedCharged(&N_FIELDS, run);

fn run(args: &NamedArgs<'_>, budget: &Budget) -> Result<Value> {
    best(args, budget, true)
}
