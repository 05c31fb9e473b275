//! `$inc`: adds to a number.

use lapsedb_value::Value;

use super::arithmetic::{Arithmetic, Operation, is_number};
use crate::show::show_element;
use crate::{MqlError, Result};

pub(super) fn parse(path: &str, argument: &Value) -> Result<Arithmetic> {
    match is_number(argument) {
        true => Ok(Arithmetic {
            operation: Operation::Add,
            operand: argument.clone(),
        }),
        false => Err(MqlError::type_mismatch(format!(
            "Cannot increment with non-numeric argument: {{{}}}",
            show_element(path, argument)
        ))),
    }
}
