//! Types: asking for them, and changing them.

use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::{Value, bson};

use super::Expr;
use super::form::{Args, Fields, Form, OPTIONAL, Operator, Run, arguments, is_nullish};
use super::numeric::{Num, decimal, is_numeric};
use super::scope::{Names, Scope};
use super::values::{is_true, type_name};
use crate::{MqlError, Result};

pub(crate) mod convert;
pub(crate) mod is_number;
pub(crate) mod text;
pub(crate) mod to_bool;
pub(crate) mod to_date;
pub(crate) mod to_decimal;
pub(crate) mod to_double;
pub(crate) mod to_hashed_index_key;
pub(crate) mod to_int;
pub(crate) mod to_long;
pub(crate) mod to_object_id;
pub(crate) mod to_string;
pub(crate) mod to_uuid;
pub(crate) mod type_of;

/// The short forms `$toInt` and their like: one argument, null stays null.
fn short(
    operator: &str,
    spec: &Value,
    names: &Names,
    run: fn(&Args<'_>) -> Result<Value>,
) -> Result<Expr> {
    let args = arguments(spec, names)?;
    match args.len() {
        1 => Ok(Expr::Call {
            run: Run::Plain(run),
            args,
        }),
        count => Err(MqlError::new(
            50723,
            format!("{operator} requires a single argument, got {count}"),
        )),
    }
}

/// Code 241, ConversionFailure.
fn failure(message: impl Into<String>) -> MqlError {
    MqlError::new(241, message)
}
