//! What a filter asks of single values, one operator per file.

use lapsedb_value::Value;

use super::geo::{GeoTest, Near};
use super::node::Run;
use super::path::Leaf;

pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod elem_match;
pub(crate) mod in_list;
pub(crate) mod integer;
pub(crate) mod modulo;
pub(crate) mod regex;
pub(crate) mod size;
pub(crate) mod type_is;

/// A question to one value.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Compare(compare::Compare),
    In(in_list::InList),
    Regex(regex::RegexTest),
    Modulo(modulo::Modulo),
    /// `$exists: true`.
    Exists,
    Type(type_is::TypeIs),
    Size(size::Size),
    ElemMatch(elem_match::ElemMatch),
    Bits(bits::Bits),
    Geo(Box<GeoTest>),
    Near(Near),
}

impl Test {
    /// Whether arrays at the end of the path are asked element by element.
    pub(crate) fn leaf(&self) -> Leaf {
        match self {
            Test::Size(_) | Test::ElemMatch(_) => Leaf::Whole,
            // An element exists before its array does, which only tells where it is.
            Test::Exists
            | Test::Compare(_)
            | Test::In(_)
            | Test::Regex(_)
            | Test::Modulo(_)
            | Test::Type(_)
            | Test::Bits(_)
            | Test::Geo(_)
            | Test::Near(_) => Leaf::Elements,
        }
    }

    /// Whether the value fulfils it; missing values are undefined.
    pub(crate) fn matches(&self, value: &Value, run: &mut Run<'_>) -> bool {
        match self {
            Test::Compare(test) => test.matches(value),
            Test::In(test) => test.matches(value, run),
            Test::Regex(test) => test.matches(value, run),
            Test::Modulo(test) => test.matches(value),
            Test::Exists => !value.is_undefined(),
            Test::Type(test) => test.matches(value),
            Test::Size(test) => test.matches(value),
            Test::Bits(test) => test.matches(value),
            Test::Geo(test) => test.matches(value),
            Test::Near(test) => test
                .distance(value)
                .is_some_and(|distance| test.is_in_range(distance)),
            Test::ElemMatch(test) => match test.find(value, run) {
                Some(at) => {
                    run.position = Some(at);
                    true
                }
                None => false,
            },
        }
    }
}
