//! Arguments that must be whole numbers.

use lapsedb_value::Value;
use lapsedb_value::decimal128::Decimal128;

use super::modulo::is_number;
use crate::show::show_element;
use crate::{MqlError, Result};

/// The whole number that a value of any number's kind is, if it is one.
pub(crate) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Decimal128(bytes) => Decimal128::from_bytes(bytes).to_i64_exact(),
        _ => value.as_i64(),
    }
}

/// A whole number that is not negative, or a refusal that shows the argument behind its name.
pub(crate) fn non_negative(name: &str, value: &Value, prefix: &str, code: i32) -> Result<i64> {
    let refuse = |what: &str| {
        let shown = show_element(name, value);
        Err(MqlError::new(code, format!("{prefix}{what} {shown}")))
    };
    if !is_number(value) {
        return refuse("Expected a number in:");
    }
    match whole(value) {
        None => refuse("Expected an integer:"),
        Some(negative) if negative < 0 => refuse("Expected a non-negative number in:"),
        Some(number) => Ok(number),
    }
}
