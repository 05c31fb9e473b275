//! `$dateSubtract`: a date so many units earlier.

use super::date_add::{FIELDS, shift};
use super::*;

pub(crate) const FORM: Form = Form::Named(&FIELDS, run);

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    shift("$dateSubtract", args, -1)
}
