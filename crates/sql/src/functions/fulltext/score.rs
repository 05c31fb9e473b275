//! The relevance of a text to words: for `ORDER BY RANK`, and for clients that take such a query apart.

use lapsedb_value::Value;

use super::bm25::Statistics;
use crate::functions::args::{self, Args};
use crate::functions::terms::{Phrase, Terms};

/// `FullTextScore`. Never evaluated: the binder refuses it outside `ORDER BY RANK`.
pub(crate) fn ranked(_: &Args<'_>) -> Option<Value> {
    None
}

/// `_FullTextScore(text, [terms], documents, words, [hits])`: the relevance by given statistics.
pub(crate) fn score(args: &Args<'_>) -> Option<Value> {
    let terms = Terms::of(args::text(args, 0)?);
    let wanted = args::array(args, 1)?.iter().map(Phrase::from_value);
    let counts = wanted
        .map(|phrase| Some(terms.count(&phrase?)))
        .collect::<Option<Vec<usize>>>()?;
    let hits = args::array(args, 4)?.iter().map(Value::as_f64);
    let statistics = Statistics {
        documents: args::number(args, 2)?,
        words: args::number(args, 3)?,
        hits: hits.collect::<Option<Vec<f64>>>()?,
    };
    if statistics.hits.len() != counts.len() {
        return None;
    }
    args::finite(statistics.score(&counts, terms.weight()))
}

/// `_FullTextWordCount`: the words of a text, common ones apart.
pub(crate) fn word_count(args: &Args<'_>) -> Option<Value> {
    let words = Terms::of(args::text(args, 0)?).weight();
    Some(Value::from(i64::try_from(words).ok()?))
}
