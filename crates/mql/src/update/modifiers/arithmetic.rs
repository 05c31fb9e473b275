//! Sums and products of numbers, each in the widest kind among its operands.

use lapsedb_value::Value;
use lapsedb_value::bson::type_name;
use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::order::compare_numbers;

use super::Outcome;
use crate::update::apply::Apply;
use crate::{MqlError, Result};

/// What is done with the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Multiply,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Add => "$inc",
            Operation::Multiply => "$mul",
        }
    }
}

/// An operation and its operand.
#[derive(Clone, Debug)]
pub(crate) struct Arithmetic {
    pub(super) operation: Operation,
    pub(super) operand: Value,
}

impl Arithmetic {
    pub(crate) fn existing(&self, value: &mut Value, apply: &Apply<'_>) -> Result<Outcome> {
        let name = self.operation.name();
        let result = match is_number(value) {
            true => compute(self.operation, value, &self.operand),
            false => {
                return Err(MqlError::type_mismatch(format!(
                    "Cannot apply {name} to a value of non-numeric type. {{{}}} has the field '{}' of non-numeric type {}",
                    apply.id_text(),
                    last_name(&apply.path()),
                    type_name(value)
                )));
            }
        };
        let result = result.ok_or_else(|| {
            MqlError::bad_value(format!(
                "Failed to apply {name} operations to current value (({}){}) for document {{{}}}",
                kind_name(value),
                crate::show::show_value(value),
                apply.id_text()
            ))
        })?;
        Ok(match same_number(value, &result) {
            true => Outcome::Same,
            false => {
                *value = result;
                Outcome::Changed
            }
        })
    }

    /// A sum with nothing is the operand, a product a zero of its kind.
    pub(crate) fn missing(&self) -> Value {
        match self.operation {
            Operation::Add => self.operand.clone(),
            Operation::Multiply => {
                let zero = compute(Operation::Multiply, &self.operand, &Value::Int32(0));
                zero.unwrap_or(Value::Int32(0))
            }
        }
    }
}

pub(super) fn is_number(value: &Value) -> bool {
    value.is_number() || matches!(value, Value::Decimal128(_))
}

/// The last name of a path, as messages show it.
pub(super) fn last_name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// How the message of an overflow calls the kinds of number.
fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Int32(_) => "NumberInt",
        Value::Int64(_) => "NumberLong",
        Value::Double(_) => "NumberDouble",
        _ => "NumberDecimal",
    }
}

/// The result; nothing if 64 bits do not hold it.
fn compute(operation: Operation, a: &Value, b: &Value) -> Option<Value> {
    match (a, b) {
        (Value::Decimal128(_), _) | (_, Value::Decimal128(_)) => {
            let (a, b) = (decimal(a)?, decimal(b)?);
            let result = match operation {
                Operation::Add => a.add(b),
                Operation::Multiply => a.mul(b),
            };
            Some(Value::Decimal128(result.to_bytes()))
        }
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            let (a, b) = (a.as_f64()?, b.as_f64()?);
            Some(Value::Double(match operation {
                Operation::Add => a + b,
                Operation::Multiply => a * b,
            }))
        }
        _ => {
            let (x, y) = (a.as_i64()?, b.as_i64()?);
            let result = match operation {
                Operation::Add => x.checked_add(y),
                Operation::Multiply => x.checked_mul(y),
            }?;
            match (a, b, i32::try_from(result)) {
                (Value::Int32(_), Value::Int32(_), Ok(small)) => Some(Value::Int32(small)),
                _ => Some(Value::Int64(result)),
            }
        }
    }
}

fn decimal(value: &Value) -> Option<Decimal128> {
    match value {
        Value::Decimal128(bytes) => Some(Decimal128::from_bytes(bytes)),
        Value::Double(n) => Some(Decimal128::from_f64(*n)),
        _ => value.as_i64().map(Decimal128::from),
    }
}

/// Whether the result is the same number of the same kind; what is not a number never is.
pub(super) fn same_number(a: &Value, b: &Value) -> bool {
    let nan = match a {
        Value::Double(n) => n.is_nan(),
        Value::Decimal128(bytes) => Decimal128::from_bytes(bytes).is_nan(),
        _ => false,
    };
    std::mem::discriminant(a) == std::mem::discriminant(b)
        && !nan
        && compare_numbers(a, b).is_some_and(std::cmp::Ordering::is_eq)
}
