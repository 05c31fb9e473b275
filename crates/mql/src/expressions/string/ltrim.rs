//! `$ltrim`: a text without white space, or other signs, at its start.

use super::trim::{FIELDS, trim};
use super::*;

pub(crate) const FORM: Form = Form::Named(&FIELDS, run);

fn run(args: &NamedArgs<'_>) -> Result<Value> {
    trim("$ltrim", args, true, false)
}
