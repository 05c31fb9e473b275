//! `$bitsAllSet`, `$bitsAllClear`, `$bitsAnySet`, `$bitsAnyClear`: bits of whole numbers and of binary data.

use lapsedb_value::Value;
use lapsedb_value::decimal128::Decimal128;

use super::integer::non_negative;
use super::modulo::is_number;
use crate::show::show_element;
use crate::{MqlError, Result};

/// Bits of a whole number; above them, its sign repeats.
const INTEGER_BITS: u64 = 64;

/// What is asked of the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    AllSet,
    AllClear,
    AnySet,
    AnyClear,
}

/// Positions of bits, and what they must be.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    quantity: Quantity,
    positions: Vec<u64>,
}

impl Bits {
    pub(crate) fn parse(
        field: &str,
        name: &str,
        quantity: Quantity,
        argument: &Value,
    ) -> Result<Bits> {
        let positions = match argument {
            Value::Array(elements) => positions(elements)?,
            Value::Binary { bytes, .. } => (0..bytes.len() as u64 * 8)
                .filter(|at| bit_of(bytes, *at))
                .collect(),
            number if is_number(number) => {
                let mask = non_negative(name, number, "", 9)?;
                (0..INTEGER_BITS).filter(|at| mask >> at & 1 == 1).collect()
            }
            other => {
                let shown = show_element(name, other);
                return Err(MqlError::bad_value(format!(
                    "{field} takes an Array, a number, or a BinData but received: {shown}"
                )));
            }
        };
        Ok(Bits {
            quantity,
            positions,
        })
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        match value {
            Value::Binary { bytes, .. } => self.holds(|at| bit_of(bytes, at)),
            Value::Int32(_) | Value::Int64(_) | Value::Double(_) => {
                let number = value.as_i64();
                number.is_some_and(|n| self.holds(|at| n >> at.min(INTEGER_BITS - 1) & 1 == 1))
            }
            // MongoDB rounds decimals here, where it refuses doubles with a fraction.
            Value::Decimal128(bytes) => {
                let rounded = Decimal128::from_bytes(bytes).round_to(0);
                // What does not fit, or is no number, has only the highest bit.
                let n = rounded.to_i64_truncated().unwrap_or(i64::MIN);
                self.holds(|at| n >> at.min(INTEGER_BITS - 1) & 1 == 1)
            }
            _ => false,
        }
    }

    fn holds(&self, is_set: impl Fn(u64) -> bool) -> bool {
        let mut bits = self.positions.iter().map(|at| is_set(*at));
        match self.quantity {
            Quantity::AllSet => bits.all(|set| set),
            Quantity::AllClear => bits.all(|set| !set),
            Quantity::AnySet => bits.any(|set| set),
            Quantity::AnyClear => bits.any(|set| !set),
        }
    }
}

fn positions(elements: &[Value]) -> Result<Vec<u64>> {
    let mut positions = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        let prefix = "Failed to parse bit position. ";
        let at = non_negative(&index.to_string(), element, prefix, 2)?;
        positions.push(at as u64);
    }
    Ok(positions)
}

fn bit_of(bytes: &[u8], at: u64) -> bool {
    let byte = usize::try_from(at / 8).ok().and_then(|at| bytes.get(at));
    byte.is_some_and(|byte| byte >> (at % 8) & 1 == 1)
}
