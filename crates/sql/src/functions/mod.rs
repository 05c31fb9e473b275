//! The built-in functions: a file for each family, one line each in the table.
//!
//! A function returns nothing where it is undefined, which is what wrong arguments make it.

mod args;
mod array;
mod conditional;
mod datetime;
pub(crate) mod fulltext;
mod geo;
mod integer;
mod item;
mod logic;
mod math;
pub(crate) mod number_text;
mod rid;
mod string;
pub(crate) mod terms;
mod types;
mod units;
mod vector;

use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::{Ctx, weight};
use crate::plan::Expr;
use crate::span::Span;
use args::Args;

/// A built-in function.
#[derive(Debug)]
pub struct Function {
    /// Its name as documented; upper and lower case are the same.
    pub name: &'static str,
    /// The fewest arguments.
    pub min: u8,
    /// The most arguments, unless there is no end.
    pub max: Option<u8>,
    /// What it does, in a line.
    pub doc: &'static str,
    /// Whether its result depends on its arguments alone.
    pub purity: Purity,
    /// Whether it may stand in `ORDER BY RANK` only.
    pub rank_only: bool,
    /// How much of its arguments it goes through.
    pub reads: Reads,
    pub(crate) call: Call,
    /// What has to hold of the arguments as they stand in the query, before any document is read.
    pub(crate) check: Option<Check>,
}

/// Refuses arguments of a call that stands at that place. Those that depend on no document are constants already.
pub(crate) type Check = fn(&[Expr], Span) -> Result<(), SqlError>;

/// What the result of a function depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purity {
    /// Its arguments alone.
    Pure,
    /// The time or chance, too.
    Context,
}

/// How much of its arguments a function goes through, which is what a call costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Nothing but their types.
    Types,
    /// All of them.
    All,
    /// The first one again for each value of the others.
    FirstForEach,
    /// All of them, and each position with each other one.
    Pairs,
}

/// How a function is called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    /// With its arguments.
    Plain(fn(&Args<'_>) -> Option<Value>),
    /// With the execution, for its time, its random numbers or its compiled expressions.
    Context(fn(&Ctx<'_>, &Args<'_>) -> Result<Option<Value>, SqlError>),
}

type Plain = fn(&Args<'_>) -> Option<Value>;
type Context = fn(&Ctx<'_>, &Args<'_>) -> Result<Option<Value>, SqlError>;

impl Function {
    /// Whether its result depends on its arguments alone.
    pub fn is_pure(&self) -> bool {
        self.purity == Purity::Pure
    }

    /// Bytes that a call with these arguments goes through.
    pub(crate) fn work(&self, args: &Args<'_>) -> usize {
        match self.reads {
            Reads::Types => 0,
            Reads::All => args.iter().map(|arg| read_bytes(arg)).sum(),
            Reads::FirstForEach => {
                let Some((first, others)) = args.split_first() else {
                    return 0;
                };
                let times: usize = others.iter().map(|other| parts(other)).sum();
                let others: usize = others.iter().map(|other| read_bytes(other)).sum();
                read_bytes(first)
                    .saturating_mul(times.max(1))
                    .saturating_add(others)
            }
            Reads::Pairs => {
                let all: usize = args.iter().map(|arg| read_bytes(arg)).sum();
                let positions = args.iter().map(|arg| parts(arg)).sum::<usize>() / 2;
                all.saturating_add(positions.saturating_mul(positions))
            }
        }
    }

    const fn reads(self, reads: Reads) -> Function {
        Function { reads, ..self }
    }

    const fn checked(self, check: Check) -> Function {
        Function {
            check: Some(check),
            ..self
        }
    }

    /// Whether it takes so many arguments.
    pub fn takes(&self, count: usize) -> bool {
        count >= usize::from(self.min) && self.max.is_none_or(|max| count <= usize::from(max))
    }
}

/// Bytes of a value that is gone through.
fn read_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(_) | Value::Object(_) => usize::try_from(weight(value)).unwrap_or(usize::MAX),
        _ => 0,
    }
}

/// How many values the first argument is compared with because of another one: elements, members or positions count each.
fn parts(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(object) => object.values().map(parts).sum(),
        _ => 1,
    }
}

/// The function of that name, in any case.
pub fn find(name: &str) -> Option<&'static Function> {
    find_canonical(name).or_else(|| {
        let mut aliases = ALIASES.iter();
        let (_, name) = aliases.find(|(alias, _)| alias.eq_ignore_ascii_case(name))?;
        find_canonical(name)
    })
}

fn find_canonical(name: &str) -> Option<&'static Function> {
    let found = FUNCTIONS.binary_search_by(|function| {
        let known = function.name.bytes().map(|byte| byte.to_ascii_uppercase());
        known.cmp(name.bytes().map(|byte| byte.to_ascii_uppercase()))
    });
    FUNCTIONS.get(found.ok()?)
}

/// All functions, sorted by name.
pub fn all() -> &'static [Function] {
    &FUNCTIONS
}

const fn pure(
    name: &'static str,
    min: u8,
    max: Option<u8>,
    call: Plain,
    doc: &'static str,
) -> Function {
    Function {
        name,
        min,
        max,
        doc,
        purity: Purity::Pure,
        rank_only: false,
        reads: Reads::All,
        call: Call::Plain(call),
        check: None,
    }
}

/// Depends on its arguments alone, but uses what the execution has compiled already.
const fn with_cache(
    name: &'static str,
    min: u8,
    max: Option<u8>,
    call: Context,
    doc: &'static str,
) -> Function {
    Function {
        name,
        min,
        max,
        doc,
        purity: Purity::Pure,
        rank_only: false,
        reads: Reads::All,
        call: Call::Context(call),
        check: None,
    }
}

const fn with_context(
    name: &'static str,
    min: u8,
    max: Option<u8>,
    call: Context,
    doc: &'static str,
) -> Function {
    Function {
        name,
        min,
        max,
        doc,
        purity: Purity::Context,
        rank_only: false,
        reads: Reads::All,
        call: Call::Context(call),
        check: None,
    }
}

const fn rank_only(
    name: &'static str,
    min: u8,
    max: Option<u8>,
    call: Plain,
    doc: &'static str,
) -> Function {
    Function {
        name,
        min,
        max,
        doc,
        purity: Purity::Pure,
        rank_only: true,
        reads: Reads::All,
        call: Call::Plain(call),
        check: None,
    }
}

/// Other spellings that the service knows: those families whose names have a `_` are known without, but not the `ST_` functions, and
/// few of the others are known with one.
#[rustfmt::skip]
const ALIASES: [(&str, &str); 34] = [
    ("ARRAYAVG", "ARRAY_AVG"),
    ("ARRAYCONCAT", "ARRAY_CONCAT"),
    ("ARRAYCONTAINS", "ARRAY_CONTAINS"),
    ("ARRAYCONTAINSALL", "ARRAY_CONTAINS_ALL"),
    ("ARRAYCONTAINSANY", "ARRAY_CONTAINS_ANY"),
    ("ARRAYLENGTH", "ARRAY_LENGTH"),
    ("ARRAYMAX", "ARRAY_MAX"),
    ("ARRAYMEDIAN", "ARRAY_MEDIAN"),
    ("ARRAYMIN", "ARRAY_MIN"),
    ("ARRAYSLICE", "ARRAY_SLICE"),
    ("ARRAYSUM", "ARRAY_SUM"),
    ("CONTAINS_ALL_CI", "ContainsAllCi"),
    ("CONTAINS_ALL_CS", "ContainsAllCs"),
    ("CONTAINS_ANY_CI", "ContainsAnyCi"),
    ("CONTAINS_ANY_CS", "ContainsAnyCs"),
    ("FULLTEXT_CONTAINS", "FullTextContains"),
    ("FULLTEXT_CONTAINSALL", "FullTextContainsAll"),
    ("FULLTEXT_CONTAINSANY", "FullTextContainsAny"),
    ("INDEXOF", "INDEX_OF"),
    ("ISARRAY", "IS_ARRAY"),
    ("ISBOOL", "IS_BOOL"),
    ("ISBOOLEAN", "IS_BOOL"),
    ("ISDATETIME", "IS_DATETIME"),
    ("ISDEFINED", "IS_DEFINED"),
    ("ISFINITENUMBER", "IS_FINITE_NUMBER"),
    ("ISINTEGER", "IS_INTEGER"),
    ("ISNULL", "IS_NULL"),
    ("ISNUMBER", "IS_NUMBER"),
    ("ISOBJECT", "IS_OBJECT"),
    ("ISPRIMITIVE", "IS_PRIMITIVE"),
    ("ISSTRING", "IS_STRING"),
    ("IS_BOOLEAN", "IS_BOOL"),
    ("STRING_EQUALS", "STRINGEQUALS"),
    ("TO_STRING", "ToString"),
];

#[rustfmt::skip]
static FUNCTIONS: [Function; 145] = [
    pure("ABS", 1, Some(1), math::rounding::abs, "The absolute value of a number."),
    pure("ACOS", 1, Some(1), math::trigonometry::acos, "The angle whose cosine is the number, in radians."),
    with_context("Ago", 1, Some(2), datetime::current::ago, "The time of the query less some parts or a time span, as text.").checked(datetime::arithmetic::check_shift),
    pure("ARRAY_AVG", 1, Some(1), array::reduce::avg, "The average of the numbers in an array."),
    with_cache("ARRAY_CONCAT", 2, None, array::elements::concat, "One array after the other."),
    pure("ARRAY_CONTAINS", 2, Some(3), array::contains::contains, "Whether an array has the value, or an object that has all its members.").reads(Reads::FirstForEach),
    pure("ARRAY_CONTAINS_ALL", 2, None, array::contains::all, "Whether an array has all of the values.").reads(Reads::FirstForEach),
    pure("ARRAY_CONTAINS_ANY", 2, None, array::contains::any, "Whether an array has any of the values.").reads(Reads::FirstForEach),
    pure("ARRAY_LENGTH", 1, Some(1), array::elements::length, "The number of elements of an array.").reads(Reads::Types),
    pure("ARRAY_MAX", 1, Some(1), array::reduce::max, "The largest element of an array."),
    pure("ARRAY_MEDIAN", 1, Some(1), array::reduce::median, "The median of the numbers in an array."),
    pure("ARRAY_MIN", 1, Some(1), array::reduce::min, "The smallest element of an array."),
    pure("ARRAY_SLICE", 2, Some(3), array::elements::slice, "A part of an array; a negative start counts from the end."),
    pure("ARRAY_SUM", 1, Some(1), array::reduce::sum, "The sum of the numbers in an array."),
    pure("ASIN", 1, Some(1), math::trigonometry::asin, "The angle whose sine is the number, in radians."),
    pure("ATAN", 1, Some(1), math::trigonometry::atan, "The angle whose tangent is the number, in radians."),
    pure("ATN2", 2, Some(2), math::trigonometry::atn2, "The angle of the tangent of y and x, in radians."),
    pure("CEILING", 1, Some(1), math::rounding::ceiling, "The smallest whole number not below the number."),
    pure("CHOOSE", 2, None, array::elements::choose, "The argument at a place, counted from 1 after the first."),
    pure("CONCAT", 2, None, string::build::concat, "One string after the other."),
    pure("CONTAINS", 2, Some(3), string::search::contains, "Whether a string contains another; the third argument ignores case."),
    pure("ContainsAllCi", 2, None, string::search::contains_all_ci, "Whether a string contains all of the others, whatever their case.").reads(Reads::FirstForEach),
    pure("ContainsAllCs", 2, None, string::search::contains_all_cs, "Whether a string contains all of the others.").reads(Reads::FirstForEach),
    pure("ContainsAnyCi", 2, None, string::search::contains_any_ci, "Whether a string contains any of the others, whatever their case.").reads(Reads::FirstForEach),
    pure("ContainsAnyCs", 2, None, string::search::contains_any_cs, "Whether a string contains any of the others.").reads(Reads::FirstForEach),
    pure("COS", 1, Some(1), math::trigonometry::cos, "The cosine of an angle in radians."),
    pure("COT", 1, Some(1), math::trigonometry::cot, "The cotangent of an angle in radians."),
    pure("DateTimeAdd", 2, Some(3), datetime::arithmetic::add, "A date-time with some parts or a time span added.").checked(datetime::arithmetic::check_add),
    pure("DateTimeBin", 2, Some(4), datetime::arithmetic::bin, "A time rounded down to a multiple of some parts."),
    pure("DateTimeDiff", 3, Some(3), datetime::arithmetic::diff, "How many boundaries of a part lie between two times."),
    pure("DateTimeFormat", 2, Some(2), datetime::text::format, "A time written by a format."),
    pure("DateTimeFromParts", 3, Some(7), datetime::parts::from_parts, "A time from year, month, day, hour, minute, second and units of 100 ns."),
    pure("DateTimePart", 2, Some(2), datetime::parts::part, "A part of a time."),
    pure("DateTimeToTicks", 1, Some(1), datetime::text::to_ticks, "A time in units of 100 ns since 1970."),
    pure("DateTimeToTimestamp", 1, Some(1), datetime::text::to_timestamp, "A time in milliseconds since 1970."),
    pure("DAY", 1, Some(1), datetime::parts::day, "The day of a time."),
    pure("DEGREES", 1, Some(1), math::trigonometry::degrees, "An angle in degrees, from radians."),
    pure("DocumentId", 1, Some(1), item::document_id::call, "The number of an item within its container.").reads(Reads::Types),
    pure("ENDSWITH", 2, Some(3), string::search::ends_with, "Whether a string ends with another; the third argument ignores case."),
    pure("EXP", 1, Some(1), math::powers::exp, "The exponential of a number."),
    pure("FLOOR", 1, Some(1), math::rounding::floor, "The largest whole number not above the number."),
    pure("FullTextContains", 2, Some(2), fulltext::contains::contains, "Whether a text contains a word or phrase.").reads(Reads::FirstForEach),
    pure("FullTextContainsAll", 2, None, fulltext::contains::all, "Whether a text contains all of the words or phrases.").reads(Reads::FirstForEach),
    pure("FullTextContainsAny", 2, None, fulltext::contains::any, "Whether a text contains any of the words or phrases.").reads(Reads::FirstForEach),
    rank_only("FullTextScore", 2, None, fulltext::score::ranked, "The relevance of a text to words; only in ORDER BY RANK."),
    pure("GenerateEmbeddings", 1, Some(1), item::generate_embeddings::call, "The vector of a text; there is no model for it here.").checked(item::generate_embeddings::check),
    with_context("GetCurrentDateTime", 0, Some(0), datetime::current::date_time, "The time of the query as text."),
    with_context("GetCurrentDateTimeStatic", 0, Some(0), datetime::current::date_time, "The time of the query as text."),
    with_context("GetCurrentTicks", 0, Some(0), datetime::current::ticks, "The time of the query in units of 100 ns since 1970."),
    with_context("GetCurrentTicksStatic", 0, Some(0), datetime::current::ticks, "The time of the query in units of 100 ns since 1970."),
    with_context("GetCurrentTimestamp", 0, Some(0), datetime::current::timestamp, "The time of the query in milliseconds since 1970."),
    with_context("GetCurrentTimestampStatic", 0, Some(0), datetime::current::timestamp, "The time of the query in milliseconds since 1970."),
    pure("HASH", 1, Some(3), item::hash::call, "A number that is the same for equal values, up to a modulo, from a seed.").checked(item::hash::check),
    pure("IIF", 3, Some(3), conditional::iif, "The second argument if the first is true, else the third."),
    pure("INDEX_OF", 2, Some(3), string::search::index_of, "Where a string first occurs in another, or -1."),
    pure("IntAdd", 2, Some(2), integer::add, "The sum of two 64-bit integers."),
    pure("IntBitAnd", 2, Some(2), integer::bit_and, "The bits set in both of two 64-bit integers."),
    pure("IntBitLeftShift", 2, Some(2), integer::bit_left_shift, "A 64-bit integer with its bits moved left."),
    pure("IntBitNot", 1, Some(1), integer::bit_not, "A 64-bit integer with all bits flipped."),
    pure("IntBitOr", 2, Some(2), integer::bit_or, "The bits set in either of two 64-bit integers."),
    pure("IntBitRightShift", 2, Some(2), integer::bit_right_shift, "A 64-bit integer with its bits moved right."),
    pure("IntBitXor", 2, Some(2), integer::bit_xor, "The bits set in one of two 64-bit integers."),
    pure("IntDiv", 2, Some(2), integer::div, "The quotient of two 64-bit integers."),
    pure("IntMod", 2, Some(2), integer::rem, "The remainder of two 64-bit integers."),
    pure("IntMul", 2, Some(2), integer::mul, "The product of two 64-bit integers."),
    pure("IntSub", 2, Some(2), integer::sub, "The difference of two 64-bit integers."),
    pure("IS_ARRAY", 1, Some(1), types::is_array, "Whether the value is an array.").reads(Reads::Types),
    pure("IS_BOOL", 1, Some(1), types::is_bool, "Whether the value is a boolean.").reads(Reads::Types),
    pure("IS_DATETIME", 1, Some(1), datetime::text::is_datetime, "Whether the value is a time as text."),
    pure("IS_DEFINED", 1, Some(1), types::is_defined, "Whether there is a value.").reads(Reads::Types),
    pure("IS_FINITE_NUMBER", 1, Some(1), types::is_finite_number, "Whether the value is a finite number.").reads(Reads::Types),
    pure("IS_INTEGER", 1, Some(1), types::is_integer, "Whether the value is a whole number of 64 bits.").reads(Reads::Types),
    pure("IS_NULL", 1, Some(1), types::is_null, "Whether the value is null.").reads(Reads::Types),
    pure("IS_NUMBER", 1, Some(1), types::is_number, "Whether the value is a number.").reads(Reads::Types),
    pure("IS_OBJECT", 1, Some(1), types::is_object, "Whether the value is an object.").reads(Reads::Types),
    pure("IS_PRIMITIVE", 1, Some(1), types::is_primitive, "Whether the value is null, a boolean, a number or a string.").reads(Reads::Types),
    pure("IS_STRING", 1, Some(1), types::is_string, "Whether the value is a string.").reads(Reads::Types),
    with_context("LAPSEDB_EXPIRES_AT", 1, Some(1), item::lapsedb_expires_at::call, "The second from which an item is gone; null if it stays. Ours alone.").reads(Reads::Types),
    with_context("LAPSEDB_SECONDS_LEFT", 1, Some(1), item::lapsedb_seconds_left::call, "How many seconds an item has to live; null if it stays. Ours alone.").reads(Reads::Types),
    pure("LastIndexOf", 2, Some(3), string::search::last_index_of, "Where a string last occurs in another, or -1."),
    pure("LastSubstringAfter", 2, Some(2), string::parts::after_last, "What follows the last occurrence of another string."),
    pure("LastSubstringBefore", 2, Some(2), string::parts::before_last, "What precedes the last occurrence of another string."),
    pure("LEFT", 2, Some(2), string::parts::left, "The first characters of a string."),
    pure("LENGTH", 1, Some(1), string::parts::length, "The number of characters of a string, in UTF-16 code units."),
    pure("LOG", 1, Some(2), math::powers::log, "The natural logarithm of a number, or that to a base."),
    pure("LOG10", 1, Some(1), math::powers::log10, "The logarithm of a number to base 10."),
    pure("LOWER", 1, Some(1), string::case::lower, "A string in lower case."),
    pure("LTRIM", 1, Some(2), string::trim::left, "A string without blanks, or the given characters, at its start."),
    pure("MONTH", 1, Some(1), datetime::parts::month, "The month of a time."),
    with_context("Now", 0, Some(2), datetime::current::now, "The time of the query as text, or with some parts or a time span added.").checked(datetime::arithmetic::check_shift),
    pure("NumberBin", 1, Some(2), math::rounding::number_bin, "A number rounded down to a multiple of the bin size."),
    with_cache("ObjectToArray", 1, Some(3), array::elements::of_object, "The members of an object as an array of name and value."),
    pure("PI", 0, Some(0), math::trigonometry::pi, "The number pi."),
    pure("POWER", 2, Some(2), math::powers::power, "A number raised to a power."),
    pure("RADIANS", 1, Some(1), math::trigonometry::radians, "An angle in radians, from degrees."),
    with_context("RAND", 0, Some(0), math::random::rand, "A random number from 0 up to, not including, 1."),
    with_cache("RegexExtract", 2, Some(4), string::regex::extract, "The first part of a string that matches a regular expression, or a group of it; the third argument are flags of imsx."),
    with_cache("RegexExtractAll", 2, Some(4), string::regex::extract_all, "All parts of a string that match a regular expression, or a group of each."),
    with_cache("REGEXMATCH", 2, Some(3), string::regex::is_match, "Whether a string matches a regular expression; the third argument are flags of imsx."),
    with_cache("RegexReplace", 3, Some(4), string::regex::replace, "A string with the first part that matches a regular expression replaced; $1 is its first group."),
    with_cache("RegexReplaceAll", 3, Some(4), string::regex::replace_all, "A string with all parts that match a regular expression replaced."),
    pure("REPLACE", 3, Some(3), string::build::replace, "A string with every occurrence of another replaced by a third."),
    pure("REPLICATE", 2, Some(2), string::build::replicate, "A string repeated."),
    pure("REVERSE", 1, Some(1), string::build::reverse, "A string backwards."),
    pure("RIGHT", 2, Some(2), string::parts::right, "The last characters of a string."),
    pure("ROUND", 1, Some(2), math::rounding::round, "A number rounded to a whole one, or to some digits, half away from zero."),
    pure("RTRIM", 1, Some(2), string::trim::right, "A string without blanks, or the given characters, at its end."),
    pure("SetDifference", 2, Some(2), array::sets::difference, "The distinct elements of the first array that the second lacks."),
    pure("SetEqual", 2, Some(2), array::sets::equal, "Whether two arrays have the same distinct elements."),
    pure("SetIntersect", 2, Some(2), array::sets::intersect, "The distinct elements that two arrays share."),
    pure("SetUnion", 2, Some(2), array::sets::union, "The distinct elements of two arrays."),
    pure("SIGN", 1, Some(1), math::rounding::sign, "-1, 0 or 1, as the number is negative, zero or positive."),
    pure("SIN", 1, Some(1), math::trigonometry::sin, "The sine of an angle in radians."),
    pure("SQRT", 1, Some(1), math::powers::sqrt, "The square root of a number."),
    pure("SQUARE", 1, Some(1), math::powers::square, "The square of a number."),
    pure("STARTSWITH", 2, Some(3), string::search::starts_with, "Whether a string starts with another; the third argument ignores case."),
    pure("STRINGEQUALS", 2, Some(3), string::search::equals, "Whether two strings are equal; the third argument ignores case."),
    pure("StringJoin", 2, Some(2), string::build::join, "The strings of an array with another between them."),
    with_cache("StringSplit", 2, Some(2), string::build::split, "The parts of a string between occurrences of another."),
    pure("StringToArray", 1, Some(1), string::parse::array, "The array that a string says in JSON."),
    pure("StringToBoolean", 1, Some(1), string::parse::boolean, "The boolean that a string says in JSON."),
    pure("StringToNull", 1, Some(1), string::parse::null, "Null, if a string says it in JSON."),
    pure("StringToNumber", 1, Some(1), string::string_to_number::call, "The number that a string says in JSON."),
    pure("StringToObject", 1, Some(1), string::parse::object, "The object that a string says in JSON."),
    pure("ST_AREA", 1, Some(1), geo::area, "The area of a geometry in square metres.").reads(Reads::Pairs),
    pure("ST_DISTANCE", 2, Some(2), geo::distance, "The distance of two geometries in metres.").reads(Reads::Pairs),
    pure("ST_INTERSECTS", 2, Some(2), geo::intersects, "Whether two geometries share a point.").reads(Reads::Pairs),
    pure("ST_ISVALID", 1, Some(1), geo::is_valid, "Whether a value is a valid GeoJSON geometry.").reads(Reads::Pairs),
    pure("ST_ISVALIDDETAILED", 1, Some(1), geo::is_valid_detailed, "Whether a value is a valid GeoJSON geometry, and why not.").reads(Reads::Pairs),
    pure("ST_WITHIN", 2, Some(2), geo::within, "Whether the first geometry lies within the second.").reads(Reads::Pairs),
    pure("SUBSTRING", 3, Some(3), string::parts::substring, "A part of a string: start, counted from 0, and length."),
    pure("SubstringAfter", 2, Some(2), string::parts::after, "What follows the first occurrence of another string."),
    pure("SubstringBefore", 2, Some(2), string::parts::before, "What precedes the first occurrence of another string."),
    pure("TAN", 1, Some(1), math::trigonometry::tan, "The tangent of an angle in radians."),
    pure("TicksToDateTime", 1, Some(2), datetime::text::from_ticks, "The time so many units of 100 ns after 1970, by a format if one is given."),
    pure("TimestampToDateTime", 1, Some(2), datetime::text::from_timestamp, "The time so many milliseconds after 1970, by a format if one is given."),
    pure("ToString", 1, Some(1), string::to_string::call, "A value as text; strings stay as they are."),
    pure("TRIM", 1, Some(2), string::trim::both, "A string without blanks, or the given characters, at both ends."),
    pure("TRUNC", 1, Some(1), math::rounding::trunc, "A number without its fraction."),
    pure("UPPER", 1, Some(1), string::case::upper, "A string in upper case."),
    pure("VectorDistance", 2, Some(4), vector::distance::distance, "The similarity or distance of two vectors.").checked(vector::options::check),
    pure("YEAR", 1, Some(1), datetime::parts::year, "The year of a time."),
    pure("_FullTextScore", 5, Some(5), fulltext::score::score, "The relevance of a text to words by given statistics; sent by clients in place of FullTextScore.").reads(Reads::FirstForEach),
    pure("_FullTextWordCount", 1, Some(1), fulltext::score::word_count, "The words of a text, common ones apart; sent by clients in place of FullTextScore."),
    pure("_VectorScore", 2, Some(4), vector::distance::score, "The nearness of two vectors; sent by clients in place of VectorDistance.").checked(vector::options::check),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_name_is_found() {
        let names: Vec<String> = all()
            .iter()
            .map(|function| function.name.to_ascii_uppercase())
            .collect();
        assert!(names.is_sorted_by(|a, b| a < b));
        for function in all() {
            assert_eq!(
                find(&function.name.to_ascii_lowercase()).map(|found| found.name),
                Some(function.name)
            );
        }
        for (alias, name) in ALIASES {
            assert_eq!(find(alias).map(|found| found.name), Some(name));
        }
        assert!(find("NOSUCH").is_none());
    }
}
