//! Texts: joining, cutting, searching, replacing.

use lapsedb_value::budget::{MEMBER_BYTES, VALUE_BYTES, text_bytes};
use lapsedb_value::{Budget, Object, Value};

use super::Expr;
use super::array::read_bound;
use super::form::{
    Args, Count, Fields, Form, NamedArgs, OPTIONAL, Operator, any_nullish, is_nullish,
};
use super::numeric::Num;
use super::scope::{Names, Scope};
use super::types::text::loose_text;
use super::values::type_name;
use crate::{MqlError, Result};

pub(crate) mod concat;
pub(crate) mod index_of_bytes;
pub(crate) mod index_of_cp;
pub(crate) mod ltrim;
pub(crate) mod pattern;
pub(crate) mod regex_find;
pub(crate) mod regex_find_all;
pub(crate) mod regex_match;
pub(crate) mod replace_all;
pub(crate) mod replace_one;
pub(crate) mod rtrim;
pub(crate) mod split;
pub(crate) mod str_len_bytes;
pub(crate) mod str_len_cp;
pub(crate) mod strcasecmp;
pub(crate) mod substr_bytes;
pub(crate) mod substr_cp;
pub(crate) mod to_lower;
pub(crate) mod to_upper;
pub(crate) mod trim;

/// A named argument; the absence of a value if it was not given.
fn named<'a>(args: &'a NamedArgs<'_>, at: usize) -> &'a Value {
    let given = args.get(at).and_then(Option::as_deref);
    given.unwrap_or(Value::undefined())
}
