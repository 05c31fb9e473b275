//! Whether a text contains words or phrases.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::terms::{Phrase, Terms};

/// `FullTextContains`
pub(crate) fn contains(args: &Args<'_>) -> Option<Value> {
    all(args)
}

/// `FullTextContainsAll`
pub(crate) fn all(args: &Args<'_>) -> Option<Value> {
    let (terms, wanted) = asked(args)?;
    let all = wanted.iter().all(|phrase| terms.contain(phrase));
    Some(Value::Bool(all))
}

/// `FullTextContainsAny`
pub(crate) fn any(args: &Args<'_>) -> Option<Value> {
    let (terms, wanted) = asked(args)?;
    let any = wanted.iter().any(|phrase| terms.contain(phrase));
    Some(Value::Bool(any))
}

/// The text, and what is looked for in it.
fn asked(args: &Args<'_>) -> Option<(Terms, Vec<Phrase>)> {
    let text = args::text(args, 0)?;
    let wanted = args.iter().skip(1).map(|phrase| Phrase::from_value(phrase));
    let wanted = wanted.collect::<Option<Vec<Phrase>>>()?;
    Some((Terms::of(text), wanted))
}
