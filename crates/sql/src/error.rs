//! What is wrong with a query, in the service's own codes and words.
//!
//! Codes that begin with `SC` are the service's. Those that begin with `LAPSE` are this server's own:
//! they say which limit was reached. Each code has one row in the table below.

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
pub const TOO_COMPLEX: &str = "SC1030";
/// What the service says without a code and without a place.
const NO_CODE: &str = "";

/// Makes a constructor for each row, and the list of all rows for the page of support.
macro_rules! errors {
    ($($(#[doc = $doc:literal])+ $name:ident($($argument:ident: $type:ty),*) => $code:literal, $text:literal;)+) => {
        impl SqlError {
            $($(#[doc = $doc])+
            pub(crate) fn $name($($argument: $type,)* span: Span) -> SqlError {
                SqlError::new($code, format!($text), span)
            })+
        }

        /// Every refusal of a query with its code and its text, in which braces stand for what the query says.
        pub const ERRORS: &[(&str, &str)] = &[$(($code, $text),)+];
    };
}

errors! {
    /// A token that cannot stand where it does.
    syntax(near: &str) => "SC1001", "Syntax error, incorrect syntax near '{near}'.";
    /// The text ends where something must follow.
    end_of_text() => "SC1002", "Syntax error, unexpected end-of-file.";
    /// A character that begins no token.
    invalid_token(text: &str) => "SC1010", "Syntax error, invalid token '{text}'.";
    /// A number that is none.
    invalid_number(text: &str) => "SC1011", "Syntax error, invalid numeric value token '{text}'.";
    /// A string that does not end, or with a wrong escape.
    invalid_string(text: &str) => "SC1012", "Syntax error, invalid string literal token '{text}'.";
    /// `SELECT *` of nothing.
    star_without_from() => "SC1021", "Syntax error, 'SELECT *' is not valid if FROM clause is omitted.";
    /// Too deep or too long. The service's code; its text is not known.
    too_complex(what: &str) => "SC1030", "Syntax error, the query exceeds a limit: {what}.";
    /// A name that stands for nothing.
    unresolved(name: &str) => "SC2001", "Identifier '{name}' could not be resolved.";
    /// A function that does not exist.
    unknown_function(name: &str) => "SC2005", "'{name}' is not a recognized built-in function name.";
    /// Two sources of one name.
    alias_twice(name: &str) => "SC2021", "The input set name or alias '{name}' is specified more than once in the FROM clause.";
    /// Two members of one name.
    property_twice(name: &str) => "SC2022", "Object creation error, property name '{name}' specified more than once.";
    /// `SELECT *` in an aggregation.
    star_with_aggregate() => "SC2040", "'SELECT *' is not allowed with aggregate functions.";
    /// `SELECT *` of groups.
    star_with_group_by() => "SC2041", "'SELECT *' is not allowed with GROUP BY.";
    /// `SELECT *` of a join.
    star_of_several() => "SC2042", "'SELECT *' is only valid with a single input set.";
    /// A wrong number of arguments.
    arguments(name: &str, wanted: &str) => "SC2050", "The {name} function requires {wanted} argument(s).";
    /// A modulo of a hash that is not said in the text.
    hash_modulo() => "SC2051", "The modulo value for the 'Hash' function must be a non-zero integer literal.";
    /// A time span that is none.
    invalid_timespan() => "SC2053", "The timespan argument provided to the DateTime function is invalid.";
    /// `TOP` of something else than a number of rows.
    top_count() => "SC2060", "The count value provided for a TOP clause must be an integer.";
    /// `LIMIT` of something else than a number of rows.
    limit_count() => "SC2061", "The LIMIT count value exceeds the maximum allowed value.";
    /// `OFFSET` of something else than a number of rows.
    offset_count() => "SC2062", "The OFFSET count value exceeds the maximum allowed value.";
    /// `LET` where the order is said.
    let_in_order_by() => "SC2091", "LET expressions are not allowed in the ORDER BY clause.";
    /// An aggregate of an aggregate.
    nested_aggregate() => "SC2101", "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
    /// A part of a row where rows are gone.
    not_grouped(path: &str) => "SC2102", "Property reference '{path}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.";
    /// The same in the order.
    not_grouped_in_order_by(path: &str) => "SC2103", "Property reference '{path}' is invalid in the ORDER BY clause because it is not contained in either an aggregate function or the GROUP BY clause.";
    /// An aggregate in the filter.
    aggregate_in_where() => "SC2104", "Aggregates are not allowed in the WHERE clause.";
    /// Groups by something that is the same for all rows.
    group_by_constant() => "SC2110", "Each GROUP BY expression must contain at least one property reference.";
    /// Groups by an aggregate or a subquery.
    group_by_aggregate() => "SC2111", "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP BY clause.";
    /// A scalar subquery that may have several rows.
    cardinality() => "SC2201", "The cardinality of a scalar subquery result set cannot be greater than one.";
    /// `ORDER BY` in a subquery.
    order_by_in_subquery() => "SC2202", "'ORDER BY' is not supported in subqueries.";
    /// `TOP` in a subquery.
    top_in_subquery() => "SC2203", "'TOP' is not supported in subqueries.";
    /// `OFFSET LIMIT` in a subquery.
    offset_in_subquery() => "SC2204", "'OFFSET LIMIT' clause is not supported in subqueries.";
    /// Two limits.
    top_with_offset() => "SC2205", "A TOP cannot be used in the same query or subquery as an OFFSET.";
    /// An escape that is not one character.
    escape_character(text: &str) => "SC2207", "The invalid escape character '{text}' was specified in a LIKE predicate.";
    /// The distance of vectors with a sort order.
    vector_sort_order() => "SC2210", "Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported. VectorDistance will always sort in the order of most similar (first) to least similar (last).";
    /// A text for a model that is not said in the text of the query.
    embeddings_literal() => "SC2216", "The 'GenerateEmbeddings' function requires a single string literal argument.";
    /// A rank by something else.
    not_ranked() => "SC2221", "The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore function call.";
    /// A rank with a sort order.
    rank_sort_order() => "SC2222", "Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is not allowed.";
    /// A rank of elements.
    rank_of_elements() => "SC2223", "The FROM clause with the IN operator is not allowed with the ORDER BY RANK clause.";
    /// A rank of a join.
    rank_of_join() => "SC2224", "The JOIN operator is not allowed with the ORDER BY RANK clause.";
    /// A rank of a subquery's rows.
    rank_of_subquery() => "SC2225", "Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.";
    /// A rank in a subquery.
    rank_in_subquery() => "SC2228", "The ORDER BY RANK clause is not supported in subqueries.";
    /// A function of the rank elsewhere.
    rank_only(name: &str) => "SC2240", "The {name} function is only allowed in the ORDER BY RANK clause.";
    /// A place in an object or array that is computed.
    member_indexer() => "SC2990", "The specified query includes 'member indexer' which is currently not supported.";
    /// Too many joins.
    too_many_joins(most: usize) => "SC3002", "The SQL query exceeded the maximum number of joins. The allowed limit is {most}.";
    /// Too many calls of user-defined functions.
    too_many_user_functions(most: usize) => "SC3005", "The SQL query exceeded the maximum number of user-defined function calls. The allowed limit is {most}.";
    /// An order that no path says.
    unsupported_order() => "2206", "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.";
}

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

    /// A wrong number of arguments; `name` as the query writes it.
    pub(crate) fn arity(name: &str, min: u8, max: Option<u8>, span: Span) -> SqlError {
        let wanted = match max {
            Some(max) if max == min => format!("{min}"),
            Some(max) => format!("{min} to {max}"),
            None => format!("at least {min}"),
        };
        SqlError::arguments(name, &wanted, span)
    }

    pub(crate) fn order_over_join() -> SqlError {
        SqlError::new(
            NO_CODE,
            "Order-by over correlated collections is not supported.",
            Span::default(),
        )
    }

    pub(crate) fn parameter_name(name: &str) -> SqlError {
        SqlError::new(
            NO_CODE,
            format!(
                "Invalid query. Specified parameter name '{name}' is invalid. Parameter names should be in the format of \
                 symbol '@' followed by a valid identifier. E.g. @param1"
            ),
            Span::default(),
        )
    }

    pub(crate) fn parameter_twice(name: &str) -> SqlError {
        let message = format!("Invalid query. Specified duplicate parameter name '{name}'.");
        SqlError::new(NO_CODE, message, Span::default())
    }

    pub(crate) fn composition() -> SqlError {
        SqlError::new(
            NO_CODE,
            "Compositions of aggregates and other expressions are not allowed.",
            Span::default(),
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
