//! `$bit`: bitwise operations on whole numbers.

use lapsedb_value::Value;
use lapsedb_value::bson::type_name;

use super::Outcome;
use super::arithmetic::{last_name, same_number};
use crate::show::show_element;
use crate::update::apply::Apply;
use crate::{MqlError, Result};

/// Operations in the order they are done.
#[derive(Clone, Debug)]
pub(crate) struct Bit(Vec<(Operation, Value)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
}

impl Bit {
    pub(crate) fn parse(argument: &Value) -> Result<Bit> {
        let Value::Object(object) = argument else {
            return Err(MqlError::bad_value(format!(
                "The $bit modifier is not compatible with a {}. You must pass in an embedded document: \
                 {{$bit: {{field: {{and/or/xor: #}}}}",
                type_name(argument)
            )));
        };
        let mut operations = Vec::with_capacity(object.len());
        for (name, operand) in object {
            let shown = || format!("{{{}}}", show_element(name, operand));
            let operation = match name.as_str() {
                "and" => Operation::And,
                "or" => Operation::Or,
                "xor" => Operation::Xor,
                _ => {
                    return Err(MqlError::bad_value(format!(
                        "The $bit modifier only supports 'and', 'or', and 'xor', not '{name}' which is an unknown operator: {}",
                        shown()
                    )));
                }
            };
            if !is_integer(operand) {
                return Err(MqlError::bad_value(format!(
                    "The $bit modifier field must be an Integer(32/64 bit); a '{}' is not supported here: {}",
                    type_name(operand),
                    shown()
                )));
            }
            operations.push((operation, operand.clone()));
        }
        match operations.is_empty() {
            true => Err(MqlError::bad_value(
                "You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}",
            )),
            false => Ok(Bit(operations)),
        }
    }

    pub(crate) fn existing(&self, value: &mut Value, apply: &Apply<'_>) -> Result<Outcome> {
        if !is_integer(value) {
            return Err(MqlError::bad_value(format!(
                "Cannot apply $bit to a value of non-integral type.{} has the field {} of non-integer type {}",
                apply.id_text(),
                last_name(&apply.path()),
                type_name(value)
            )));
        }
        let result = self.compute(value);
        Ok(match same_number(value, &result) {
            true => Outcome::Same,
            false => {
                *value = result;
                Outcome::Changed
            }
        })
    }

    pub(crate) fn missing(&self) -> Value {
        self.compute(&Value::Int32(0))
    }

    fn compute(&self, value: &Value) -> Value {
        self.0
            .iter()
            .fold(value.clone(), |value, (operation, operand)| {
                let (a, b) = (
                    value.as_i64().unwrap_or_default(),
                    operand.as_i64().unwrap_or_default(),
                );
                let bits = match operation {
                    Operation::And => a & b,
                    Operation::Or => a | b,
                    Operation::Xor => a ^ b,
                };
                match (&value, operand) {
                    // Bits of two small numbers, sign included, are those of a small number.
                    (Value::Int32(_), Value::Int32(_)) => Value::Int32(bits as i32),
                    _ => Value::Int64(bits),
                }
            })
    }
}

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Int32(_) | Value::Int64(_))
}
