//! `$minN`: the least elements that are not null, in order.

use super::*;

pub(crate) const FORM: Form = Form::Named(&N_FIELDS, run);

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    best(args, false)
}
