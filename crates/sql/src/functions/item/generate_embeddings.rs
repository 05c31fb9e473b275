//! `GenerateEmbeddings`: the vector that a model makes of a text. There is no model here, so there is no vector.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::functions::args::Args;
use crate::plan::Expr;
use crate::span::Span;

pub(crate) fn call(_: &Args<'_>) -> Option<Value> {
    None
}

/// The text has to be written in the query.
pub(crate) fn check(args: &[Expr], span: Span) -> Result<(), SqlError> {
    match args.first() {
        Some(text) if text.constant().is_some_and(|text| text.as_str().is_some()) => Ok(()),
        text => Err(SqlError::embeddings_literal(
            text.map_or(span, |text| text.span),
        )),
    }
}
