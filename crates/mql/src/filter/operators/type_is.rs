//! `$type`: values of certain types.

use lapsedb_value::Value;
use lapsedb_value::bson::{type_alias, type_by_alias, type_number};

use super::integer::whole;
use super::modulo::is_number;
use crate::show::show_value;
use crate::{MqlError, Result};

/// The alias that means every kind of number.
const ANY_NUMBER: &str = "number";

/// The numbers of some types.
#[derive(Clone, Debug)]
pub(crate) struct TypeIs {
    pub(crate) numbers: Vec<i32>,
}

impl TypeIs {
    /// Reads a number, an alias, or an array of these.
    pub(crate) fn parse(field: &str, argument: &Value) -> Result<TypeIs> {
        let mut numbers = Vec::new();
        match argument {
            Value::Array(elements) => {
                for element in elements {
                    push(element, &mut numbers)?;
                }
            }
            single => push(single, &mut numbers)?,
        }
        match numbers.is_empty() {
            true => Err(MqlError::failed_to_parse(format!(
                "{field} must match at least one type"
            ))),
            false => Ok(TypeIs { numbers }),
        }
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        !value.is_undefined() && self.numbers.contains(&type_number(value))
    }
}

fn push(value: &Value, numbers: &mut Vec<i32>) -> Result<()> {
    match value {
        Value::String(alias) if alias == ANY_NUMBER => {
            let kinds = [
                Value::Int32(0),
                Value::Int64(0),
                Value::Double(0.0),
                Value::Decimal128([0; 16]),
            ];
            numbers.extend(kinds.iter().map(type_number));
        }
        Value::String(alias) => {
            let number = type_by_alias(alias)
                .ok_or_else(|| MqlError::bad_value(format!("Unknown type name alias: {alias}")))?;
            numbers.push(number);
        }
        number if is_number(number) => numbers.push(code(number)?),
        _ => {
            return Err(MqlError::type_mismatch(
                "type must be represented as a number or a string",
            ));
        }
    }
    Ok(())
}

fn code(number: &Value) -> Result<i32> {
    let known = whole(number)
        .and_then(|code| i32::try_from(code).ok())
        .filter(|code| type_alias(*code).is_some());
    known.ok_or_else(|| {
        let hint = match whole(number) {
            Some(0) => ". Instead use {$exists:false}.",
            Some(_) | None => "",
        };
        let shown = show_value(number);
        MqlError::bad_value(format!("Invalid numerical type code: {shown}{hint}"))
    })
}
