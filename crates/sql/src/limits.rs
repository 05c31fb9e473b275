//! Every limit of the language and of its evaluation, with its unit.

/// Bytes of query text.
pub const TEXT_BYTES_MAX: usize = 512 * 1024;

/// Parentheses, literals, calls and subqueries inside one another. The parser recurses this deep.
pub const NESTING_MAX: usize = 1_000;

/// Height of an expression tree: what nests, and steps of a path. Binding, evaluating and dropping a tree recurse this deep.
pub const HEIGHT_MAX: u16 = 1_000;

/// Levels of a value that is copied. Subqueries in `FROM` and `LET` put the literals of a query into one another.
pub const VALUE_LEVELS_MAX: u16 = 1_000;

/// `JOIN`s in one query, subqueries included.
pub const JOINS_MAX: usize = 10;

/// `JOIN`s that are looked at before the whole query is known to have too many.
pub const JOINS_LOOKED_AT_MAX: usize = 100;

/// Calls of user-defined functions in one query.
pub const USER_FUNCTIONS_MAX: usize = 10;

/// `AND`s in one query.
pub const ANDS_MAX: usize = 2_000;

/// `OR`s in one query.
pub const ORS_MAX: usize = 2_000;

/// The largest number in `TOP`, `OFFSET` and `LIMIT`.
pub const COUNT_MAX: u64 = u32::MAX as u64;

/// Bytes of text that one function may produce; a longer result is undefined.
pub const STRING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Expressions evaluated for one document before the query is refused.
pub const DOCUMENT_STEPS_MAX: u64 = 50_000_000;

/// Bytes of values made for one document before the query is refused.
pub const DOCUMENT_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Bytes of constants computed before the first document; beyond them they are computed with each row.
pub const FOLDED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Expressions in `GROUP BY`.
pub const GROUP_KEYS_MAX: usize = 1_000;

/// Rows, groups and distinct values that a blocking query may hold.
pub const BUFFERED_ROWS_MAX: u64 = 10_000_000;

/// Compiled regular expressions kept for one execution.
pub const REGEXES_MAX: usize = 64;

/// Partition key values that a filter may name before it counts as no filter.
pub const PARTITION_POINTS_MAX: usize = 2_000;

/// Positions in one geometry.
pub const GEOMETRY_POINTS_MAX: usize = 4_096;

/// Words of a term that others may be similar to; a longer one is looked for as it is.
pub const FUZZY_WORDS_MAX: usize = 32;

/// Rows that each of the fused rankings brings in, even if fewer are wanted.
pub const FUSED_ROWS_MIN: u64 = 120;

/// Stretches of edges, cut where two geometries meet, whose side `ST_WITHIN` looks for. Only geometries whose
/// edges run through one another's positions over and over have more; the function is undefined then.
pub const GEOMETRY_PIECES_MAX: usize = 16_384;
