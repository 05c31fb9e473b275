//! What a query may say of a search for vectors.

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::plan::Expr;
use crate::span::Span;

const DATA_TYPES: [&str; 4] = ["float32", "float16", "int8", "uint8"];
const DISTANCE_FUNCTIONS: [&str; 3] = ["cosine", "dotproduct", "euclidean"];

/// How much longer a list may be than the result.
const MULTIPLIERS: std::ops::RangeInclusive<f64> = 1.0..=100.0;

/// Refuses the third and the fourth argument of `VectorDistance` if they are not what they must be.
pub(crate) fn check(args: &[Expr], _: Span) -> Result<(), SqlError> {
    if let Some(exact) = args.get(2)
        && exact.constant().and_then(Value::as_bool).is_none()
    {
        return Err(SqlError::vector_exactness(exact.span));
    }
    let Some(options) = args.get(3) else {
        return Ok(());
    };
    let Some(said) = options.constant().and_then(Value::as_object) else {
        return Err(SqlError::vector_options(options.span));
    };
    for (name, value) in said.iter() {
        check_option(name, value, options.span)?;
    }
    Ok(())
}

fn check_option(name: &str, value: &Value, span: Span) -> Result<(), SqlError> {
    let one_of = |known: &[&str]| match value.as_str() {
        Some(value) if known.iter().any(|known| known.eq_ignore_ascii_case(value)) => Ok(()),
        _ => Err(SqlError::vector_option_value(&plain(value), name, span)),
    };
    match name {
        "dataType" => one_of(&DATA_TYPES),
        "distanceFunction" => one_of(&DISTANCE_FUNCTIONS),
        "searchListSizeMultiplier" | "quantizedVectorListMultiplier" => match value.as_f64() {
            Some(number) if MULTIPLIERS.contains(&number) => Ok(()),
            Some(_) => Err(SqlError::vector_multiplier(name, &plain(value), span)),
            None => Err(SqlError::vector_option_value(&plain(value), name, span)),
        },
        "filterPriority" => match value.as_f64() {
            Some(number) if (0.0..=1.0).contains(&number) => Ok(()),
            _ => Err(SqlError::vector_filter_priority(span)),
        },
        _ => Err(SqlError::vector_option(name, span)),
    }
}

/// A value as it stands in a sentence: a text without its quotes.
fn plain(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}
