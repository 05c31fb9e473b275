//! Literals and variables.

use lapsedb_value::{Object, Str, Value};

use super::Expr;
use super::form::{Fields, Form, Operator};
use super::path::check_variable_name;
use super::scope::{Local, Names, Scope};
use crate::{MqlError, Result};

pub(crate) mod let_in;
pub(crate) mod literal;
pub(crate) mod meta;

pub(crate) use meta::unavailable;
