//! Choices between expressions.

use lapsedb_value::Value;

use super::Expr;
use super::form::{Fields, Form, Operator, arguments, is_nullish};
use super::scope::{Names, Scope};
use super::values::{is_true, type_name};
use crate::{MqlError, Result};

pub(crate) mod cond;
pub(crate) mod if_null;
pub(crate) mod switch;
