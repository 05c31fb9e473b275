//! Logic over the truth of values.

use lapsedb_value::Value;

use super::Expr;
use super::form::{Args, Form, Operator, arguments};
use super::scope::{Names, Scope};
use super::values::is_true;
use crate::Result;

pub(crate) mod and;
pub(crate) mod not;
pub(crate) mod or;
