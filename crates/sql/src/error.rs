//! What is wrong with a query, in the service's own codes and words.
//!
//! Codes that begin with `SC` are the service's. Those that begin with `LAPSE` are this server's own:
//! they say which limit was reached. Where the service's code is not known, the nearest one is used
//! and a comment says so.

use lapsedb_value::budget::Stop;

use crate::span::Span;

/// One error, and where it stands in the query text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct SqlError {
    /// The code, such as `SC1001`; empty if the service gives none.
    pub code: &'static str,
    /// The sentence for the user.
    pub message: String,
    /// Where it starts: UTF-16 code units from the beginning of the query.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// A blocking query holds too much.
pub const TOO_MUCH_MEMORY: &str = "LAPSE_MEMORY";
/// One document costs too much to evaluate.
pub const TOO_MUCH_WORK: &str = "LAPSE_WORK";
/// The time of the request is up.
pub const INTERRUPTED: &str = "LAPSE_INTERRUPTED";
/// Code of a query that was stopped because all requests together hold too much.
pub const NO_MEMORY: &str = "LAPSE_NO_MEMORY";
/// Somebody ended the request, or the server stops.
pub const STOPPED: &str = "LAPSE_STOPPED";
/// The query is too long, too deep or has too many parts.
pub const TOO_COMPLEX: &str = "LAPSE_COMPLEXITY";
/// The order of a query is that of the elements of a JOIN. The service answers this without a code and a place.
pub const ORDER_OVER_JOIN: &str = "LAPSE_ORDER_OVER_JOIN";
/// A part of the language that is not built.
pub const NOT_BUILT: &str = "LAPSE_UNSUPPORTED";

impl SqlError {
    /// An error of that code at that place.
    pub fn new(code: &'static str, message: impl Into<String>, span: Span) -> SqlError {
        SqlError {
            code,
            message: message.into(),
            start: span.start as usize,
            end: span.end as usize,
        }
    }

    pub(crate) fn syntax(near: &str, span: Span) -> SqlError {
        SqlError::new(
            "SC1001",
            format!("Syntax error, incorrect syntax near '{near}'."),
            span,
        )
    }

    pub(crate) fn string_literal(span: Span) -> SqlError {
        SqlError::new(
            "SC1010",
            "Syntax error, invalid string literal token.",
            span,
        )
    }

    pub(crate) fn number_literal(span: Span) -> SqlError {
        SqlError::new("SC1012", "Syntax error, invalid numeric value token.", span)
    }

    pub(crate) fn too_complex(what: &str, span: Span) -> SqlError {
        SqlError::new(
            TOO_COMPLEX,
            format!("The query exceeds a limit: {what}."),
            span,
        )
    }

    pub(crate) fn unresolved(name: &str, span: Span) -> SqlError {
        SqlError::new(
            "SC2001",
            format!("Identifier '{name}' could not be resolved."),
            span,
        )
    }

    pub(crate) fn unknown_function(name: &str, span: Span) -> SqlError {
        SqlError::new(
            "SC2005",
            format!("'{name}' is not a recognized built-in function name."),
            span,
        )
    }

    pub(crate) fn arity(name: &str, min: u8, max: Option<u8>, span: Span) -> SqlError {
        let wanted = match max {
            Some(max) if max == min => format!("{min}"),
            Some(max) => format!("{min} to {max}"),
            None => format!("at least {min}"),
        };
        SqlError::new(
            "SC2050",
            format!("The {name} function requires {wanted} argument(s)."),
            span,
        )
    }

    pub(crate) fn hash_modulo(span: Span) -> SqlError {
        SqlError::new(
            "SC2051",
            "The modulo value for the 'Hash' function must be a non-zero integer literal.",
            span,
        )
    }

    pub(crate) fn embeddings_literal(span: Span) -> SqlError {
        SqlError::new(
            "SC2216",
            "The 'GenerateEmbeddings' function requires a single string literal argument.",
            span,
        )
    }

    pub(crate) fn nested_aggregate(span: Span) -> SqlError {
        SqlError::new(
            "SC2101",
            "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.",
            span,
        )
    }

    pub(crate) fn not_grouped(path: &str, span: Span) -> SqlError {
        SqlError::new(
            "SC2102",
            format!(
                "Property reference '{path}' is invalid in the select list because it is not contained in \
                 either an aggregate function or the GROUP BY clause."
            ),
            span,
        )
    }

    pub(crate) fn not_in_subquery(code: &'static str, clause: &str, span: Span) -> SqlError {
        SqlError::new(
            code,
            format!("{clause} is not supported in subqueries."),
            span,
        )
    }

    pub(crate) fn unsupported_order(span: Span) -> SqlError {
        SqlError::new(
            "2206",
            "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.",
            span,
        )
    }

    pub(crate) fn order_over_join(span: Span) -> SqlError {
        SqlError::new(
            ORDER_OVER_JOIN,
            "Order-by over correlated collections is not supported.",
            span,
        )
    }

    pub(crate) fn member_indexer(span: Span) -> SqlError {
        SqlError::new(
            "SC2990",
            "The specified query includes 'member indexer' which is currently not supported.",
            span,
        )
    }

    pub(crate) fn cardinality(span: Span) -> SqlError {
        // The service's code for this text is not known.
        SqlError::new(
            "",
            "The cardinality of a scalar subquery result set cannot be greater than one.",
            span,
        )
    }

    pub(crate) fn memory() -> SqlError {
        SqlError::new(
            TOO_MUCH_MEMORY,
            "The query holds more intermediate results than the server allows. Narrow it with a filter, TOP or LIMIT.",
            Span::default(),
        )
    }

    pub(crate) fn work() -> SqlError {
        SqlError::new(
            TOO_MUCH_WORK,
            "Evaluating the query for a single document exceeds what the server allows.",
            Span::default(),
        )
    }
}

impl From<Stop> for SqlError {
    fn from(stop: Stop) -> SqlError {
        match stop {
            Stop::Memory { .. } => SqlError::memory(),
            Stop::Account { .. } | Stop::Busy { .. } => {
                SqlError::new(NO_MEMORY, stop.to_string(), Span::default())
            }
            Stop::Steps { .. } => SqlError::work(),
            Stop::Time => SqlError::new(INTERRUPTED, stop.to_string(), Span::default()),
            Stop::Interrupted | Stop::Shutdown => {
                SqlError::new(STOPPED, stop.to_string(), Span::default())
            }
        }
    }
}
