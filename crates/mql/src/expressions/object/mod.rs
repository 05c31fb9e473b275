//! Objects: their members by name, and objects put together.

use lapsedb_value::budget::{MEMBER_BYTES, VALUE_BYTES, object_bytes, owned_bytes};
use lapsedb_value::{Budget, Members, Object, Str, Value};

use super::Expr;
use super::form::{Args, Count, Fields, Form, Operator, is_nullish};
use super::scope::{Names, Scope};
use super::values::type_name;
use crate::{MqlError, Result};

pub(crate) mod get_field;
pub(crate) mod merge_objects;
pub(crate) mod object_to_array;
pub(crate) mod set_field;
pub(crate) mod unset_field;

/// The name of a member: a text that is there already when the expression is read.
fn constant_name(
    operator: &str,
    spec: &Value,
    names: &Names,
    (path, not_constant, not_text): (i32, i32, i32),
) -> Result<Str> {
    let expr = Expr::parse(spec, names)?;
    match &expr {
        Expr::Literal(Value::String(name)) => Ok(name.clone()),
        Expr::Literal(other) => {
            let found = type_name(other);
            let message =
                format!("{operator} requires 'field' to evaluate to type String, but got {found}");
            Err(MqlError::new(not_text, message))
        }
        Expr::Path(_) => Err(MqlError::new(
            path,
            format!(
                "{spec} is a field path reference which is not allowed in this context. Did you mean {{$literal: {spec}}}?"
            ),
        )),
        Expr::Object(_)
        | Expr::Array(_)
        | Expr::Call { .. }
        | Expr::Named { .. }
        | Expr::Lazy(_) => {
            let message = format!(
                "{operator} requires 'field' to evaluate to a constant, but got a non-constant argument"
            );
            Err(MqlError::new(not_constant, message))
        }
    }
}
