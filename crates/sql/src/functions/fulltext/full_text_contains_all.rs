//! `FullTextContainsAll`: whether a text contains all of the words or phrases.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::terms::Terms;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let terms = Terms::of(args::text(args, 0)?);
    let wanted = args
        .iter()
        .skip(1)
        .map(|phrase| phrase.as_str())
        .collect::<Option<Vec<&str>>>()?;
    Some(Value::Bool(
        wanted.into_iter().all(|phrase| terms.contain(phrase)),
    ))
}
