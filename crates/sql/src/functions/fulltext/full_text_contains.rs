//! `FullTextContains`: whether a text contains a word or phrase.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::terms::Terms;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let terms = Terms::of(args::text(args, 0)?);
    Some(Value::Bool(terms.contain(args::text(args, 1)?)))
}
